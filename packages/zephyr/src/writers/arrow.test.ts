import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readArrowFile } from "../arrow/table.js";
import { ArrowWriter, InferringArrowWriter } from "./arrow.js";
import { writeAll } from "./write-all.js";

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-arrow-"));
  path = join(directory, "a.arrow");
});
afterEach(() => rm(directory, { recursive: true }));

const schema = { id: "int64", text: { nullable: "string" }, pairs: { list: { struct: { a: "float64" } } } } as const;
const rows = Array.from({ length: 25 }, (_, index) => ({ id: BigInt(index), text: index % 3 === 0 ? null : `ü${String(index)}`, pairs: Array.from({ length: index % 4 }, (_item, a) => ({ a })) }));

test("batch by batch: the library itself reads as many batches and the same rows", async () => {
  const summary = await writeAll(new ArrowWriter(path, { schema, batchRows: 10 }), rows);
  const bytes = await readFile(path);
  expect(summary).toEqual({ records: 25, batches: 3, bytes: bytes.length });
  const table = tableFromIPC(bytes);
  expect(table.batches.map((batch) => batch.numRows)).toEqual([10, 10, 5]);
  expect([...(table.getChild("text") ?? [])]).toEqual(rows.map(({ text }) => text));
  expect(await readArrowFile(path)).toEqual({ schema, records: rows });
});

test("a file without rows tells its columns", async () => {
  expect(await writeAll(new ArrowWriter(path, { schema }), [])).toMatchObject({ records: 0, batches: 0 });
  expect(await readArrowFile(path)).toEqual({ schema, records: [] });
});

test("an inferred schema holds all records", async () => {
  await writeAll(new InferringArrowWriter(path, { batchRows: 2 }), [{ a: 1 }, { a: 0.5, b: "x" }, { b: null }]);
  expect(await readArrowFile(path)).toEqual({
    schema: { a: { nullable: "float64" }, b: { nullable: "string" } },
    records: [
      { a: 1, b: null },
      { a: 0.5, b: "x" },
      { a: null, b: null },
    ],
  });
});

test("a record that does not fit is named, and no file is left; so it is after an abort", async () => {
  const writing = writeAll(new ArrowWriter(path, { schema, batchRows: 10 }), [...rows, { ...rows[0], id: "x" }, ...rows] as never);
  await expect(writing).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { path, record: 26, column: "id" } });
  const writer = new ArrowWriter(path, { schema });
  await writer.abort();
  await expect(writer.write(rows[0] as never)).rejects.toThrow("closed before");
  expect(() => new ArrowWriter(path, { schema, batchRows: 0 })).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_COUNT" }));
  expect(await readdir(directory)).toEqual([]);
});
