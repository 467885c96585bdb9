import { RecordBatchStreamWriter, tableToIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { readAll } from "../../test/read-all.js";
import { toArrowTable } from "../arrow/table.js";

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
