import { readFileSync } from "node:fs";
import { withLocalContext } from "@marin/iris";
import { expect, test } from "vitest";
import { randomNumbers } from "../../test/random.js";
import { memoryFile, readAll } from "../../test/read-all.js";
import { Dataset } from "../dataset.js";

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

test("a pattern that no member matches is an error that tells what is there, unless there may be none", async () => {
  for (const members of [["*.xyz"], ["*.csv", "data/none-*"]]) {
    await expect(readAll("corpus.zip", archive, { settings: { members } })).rejects.toMatchObject({ code: "ZEPHYR_NO_FILES", data: { path: "memory://corpus.zip", pattern: members.at(-1) }, message: expect.stringContaining("data/") as string });
  }
  const storage = await memoryFile("memory://corpus.zip", archive);
  const settings = { members: ["*.csv", "none"] };
  await withLocalContext({ storage }, async () => {
    expect(await Dataset.fromFiles("memory://corpus.zip", { settings, emptyOk: true }).toArray()).toEqual(records.slice(14));
    await expect(Dataset.fromFiles("memory://corpus.zip", { settings }).toArray()).rejects.toMatchObject({ code: "ZEPHYR_NO_FILES" });
  });
});

test("errors name the member and the line in it", async () => {
  await expect(readAll("corpus.zip", renamed("table.xyz"))).rejects.toMatchObject({ code: "ZEPHYR_UNKNOWN_FORMAT", message: expect.stringContaining("memory://corpus.zip/table.xyz") as string });
  await expect(readAll("corpus.zip", renamed("tab.jsonl"))).rejects.toMatchObject({ code: "ZEPHYR_BAD_JSON", data: { path: "memory://corpus.zip/tab.jsonl", line: 1, offset: 0 } });
});

/** The archive with another name for table.csv, of the same length. */
function renamed(name: string): Buffer {
  const copy = Buffer.from(archive);
  // In the member's own header and in the table of contents.
  for (const at of [archive.indexOf("table.csv"), archive.lastIndexOf("table.csv")]) copy.write(name, at);
  return copy;
}

test("members whose names begin with a dot are passed over, as in listings, unless they are asked for", async () => {
  for (const name of ["._abl.csv", "x/._a.csv", ".DS_Store", ".xy/a.csv", "a/.b/.csv"]) expect(await readAll("corpus.zip", renamed(name)), name).toEqual(records.slice(0, 14));
  expect(await readAll("corpus.zip", renamed("._abl.csv"), { settings: { members: ["._*.csv"] } })).toEqual(records.slice(14));
  expect(await readAll("corpus.zip", renamed("a.b/c.csv"))).toEqual(records);
  expect(await readAll("corpus.zip", renamed("./abc.csv"))).toEqual(records);
});

test("an encrypted member is an error that says so", async () => {
  const encrypted = Buffer.from(archive);
  const entry = archive.lastIndexOf("table.csv") - 46;
  encrypted.writeUInt16LE(archive.readUInt16LE(entry + 8) | 1, entry + 8);
  // Encryption puts twelve bytes before the content.
  encrypted.writeUInt32LE(archive.readUInt32LE(entry + 20) + 12, entry + 20);
  await expect(readAll("corpus.zip", encrypted)).rejects.toMatchObject({ code: "ZEPHYR_BAD_ZIP", message: expect.stringContaining("its member table.csv is encrypted") as string });
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
