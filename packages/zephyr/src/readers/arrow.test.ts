import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { RecordBatchStreamWriter, tableToIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { readAll } from "../../test/read-all.js";
import { readArrowFile, toArrowTable } from "../arrow/table.js";

const schema = { id: "int64", text: { nullable: "string" }, at: "timestamp-nanos", tags: { list: "string" } } as const;
const rows = Array.from({ length: 40 }, (_, index) => ({ id: 2n ** 60n + BigInt(index), text: index % 3 === 0 ? null : `grün ${String(index)}`, at: BigInt(index) * 1_000_000_007n, tags: Array.from({ length: index % 3 }, String) }));
const chunks = [rows.slice(0, 15), rows.slice(15, 15), rows.slice(15)];

const table = async () => {
  const [first, ...others] = await Promise.all(chunks.map((part) => toArrowTable(part, schema)));
  return first!.concat(...others);
};

test.each(["file", "stream"] as const)("an Arrow %s of several batches: its rows, exactly; the columns asked for", async (form) => {
  const bytes = tableToIPC(await table(), form);
  expect(await readAll("a.arrow", bytes)).toEqual(rows);
  expect(await readAll("a.feather", bytes, { columns: ["id"] })).toEqual(rows.map(({ id }) => ({ id })));
  const writer = RecordBatchStreamWriter.writeAll((await table()).batches);
  if (form === "stream") expect(await readAll("b.arrows", await writer.toUint8Array())).toEqual(rows);
});

test.each(["file", "stream"] as const)("an Arrow %s cut anywhere is an error that names it", async (form) => {
  const bytes = tableToIPC(await table(), form);
  for (let length = 0; length < bytes.length; length += 37) {
    await expect(readAll("a.arrow", bytes.subarray(0, length)), `${String(length)} of ${String(bytes.length)} bytes`).rejects.toMatchObject({ code: "ZEPHYR_BAD_ARROW", data: { path: "memory://a.arrow" } });
  }
});

test.each(["lz4.arrow", "zstd.arrows"])("%s: buffers that pyarrow has packed", async (name) => {
  const fixture = new URL(`../../test/fixtures/arrow/${name}`, import.meta.url);
  const expected = Array.from({ length: 300 }, (_, i) => ({
    id: 2n ** 60n + BigInt(i),
    text: i % 3 === 0 ? null : `grün ${String(i % 7)}`,
    word: ["a", "b", null][i % 3],
    noise: Uint8Array.from({ length: 9 }, (_byte, k) => (i * i * 31 + k * 17 + i * k * 7) % 251),
    list: Array.from({ length: i % 4 }, (_item, k) => k / 4),
    flag: i % 2 === 0,
  }));
  const bytes = readFileSync(fixture);
  expect(await readAll(name, bytes)).toEqual(expected);
  expect((await readArrowFile(fileURLToPath(fixture))).records).toEqual(expected);
  for (let length = 0; length < bytes.length; length += 997) await expect(readAll(name, bytes.subarray(0, length)), String(length)).rejects.toMatchObject({ code: "ZEPHYR_BAD_ARROW" });
  const magic = bytes.indexOf(name.startsWith("lz4") ? Buffer.from("04224d18", "hex") : Buffer.from("28b52ffd", "hex"));
  await expect(readAll(name, Buffer.from(bytes).fill(0, magic, magic + 1))).rejects.toMatchObject({ code: "ZEPHYR_BAD_ARROW", data: { path: `memory://${name}` } });
});
