import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { randomNumbers } from "../../test/random.js";
import { readAll } from "../../test/read-all.js";

const archive = readFileSync(new URL("../../test/fixtures/packed/corpus.zip", import.meta.url));
const records = [
  ...Array.from({ length: 6 }, () => [{ text: "one" }, { text: "zwei ü" }]).flat(),
  { text: "packed" },
  { text: "Plain text.\n".repeat(5) },
  { text: "a, b" },
];

test("members are read in order, each by its ending, packed or not", async () => {
  expect(await readAll("corpus.zip", archive)).toEqual(records);
  expect(await readAll("corpus.zip", archive, { settings: { members: ["data/*.jsonl*", "*.csv"] } })).toEqual([...records.slice(0, 13), records[14]]);
  expect(await readAll("corpus.zip", archive, { settings: { members: ["*.csv"] }, columns: ["text"], pathColumn: "file" })).toEqual([{ text: "a, b", file: "memory://corpus.zip" }]);
});

test("errors name the member and the line in it", async () => {
  const name = archive.indexOf("table.csv");
  const broken = Buffer.from(archive);
  // In the member's own header and in the table of contents.
  for (const at of [name, archive.lastIndexOf("table.csv")]) broken.write("table.xyz", at);
  await expect(readAll("corpus.zip", broken)).rejects.toMatchObject({ code: "ZEPHYR_UNKNOWN_FORMAT", message: expect.stringContaining("memory://corpus.zip/table.xyz") as string });
  for (const at of [name, archive.lastIndexOf("table.csv")]) broken.write("tab.jsonl", at);
  await expect(readAll("corpus.zip", broken)).rejects.toMatchObject({ code: "ZEPHYR_BAD_JSON", data: { path: "memory://corpus.zip/tab.jsonl", line: 1, offset: 0 } });
});

test("an archive cut at 100 random places, or with a bit of its content flipped, is an error that names it", async () => {
  const random = randomNumbers(3);
  for (let round = 0; round < 100; round += 1) {
    await expect(readAll("corpus.zip", archive.subarray(0, Math.floor(random() * archive.length)))).rejects.toMatchObject({ data: { path: "memory://corpus.zip" } });
  }
  const from = archive.indexOf("table.csv") + "table.csv".length;
  const damaged = Buffer.from(archive);
  damaged[from + 6] = (damaged[from + 6] ?? 0) ^ 1;
  await expect(readAll("corpus.zip", damaged)).rejects.toMatchObject({ code: "ZEPHYR_BAD_ZIP", message: expect.stringContaining("checksum of its member table.csv") as string });
  await expect(readAll("corpus.zip.gz", archive)).rejects.toMatchObject({ code: "ZEPHYR_COMPRESSION_UNSUPPORTED" });
});
