import type { Table } from "apache-arrow";
import { MarinError, type Storage } from "@marin/iris";
import type { DatasetSource } from "../dataset.js";
import { columnEncoders, Misfit, refuseUnknown } from "../parquet/encode.js";
import type { ParquetRecord, ParquetSchema } from "../parquet/types.js";
import { currentStorage } from "../storage.js";
import { dataOf, fieldOf } from "./build.js";
import { loadArrow } from "./library.js";
import { typeOfField, valueAt } from "./read.js";

/** What an Arrow table holds. */
export interface ArrowRecords {
  /** Its columns. */
  readonly schema: ParquetSchema;
  /** Its rows; values are exact, as a Parquet reader gives them. */
  readonly records: ParquetRecord[];
}

/**
 * Rows as an Arrow table in memory, one batch. `apache-arrow` is loaded on first use.
 *
 * @param rows - values as a Parquet writer takes them
 * @param schema - the columns; all types but float16 and interval
 * @throws MarinError ZEPHYR_BAD_RECORD naming row and column, ZEPHYR_ARROW_UNSUPPORTED
 */
export async function toArrowTable(rows: DatasetSource<ParquetRecord>, schema: ParquetSchema): Promise<Table> {
  const library = await import("apache-arrow");
  const fields = Object.entries(schema).map(([name, type]) => fieldOf(library, name, type));
  const columns: unknown[][] = fields.map(() => []);
  const encoders = [...columnEncoders(schema)];
  const size = { bytes: 0 };
  let record = 0;
  for await (const row of rows) {
    record += 1;
    try {
      refuseUnknown(row, schema, "");
      for (const [index, [name, encode]] of encoders.entries()) columns[index]?.push(encode(row[name], size));
    } catch (cause) {
      const column = cause instanceof Misfit ? cause.column : "";
      throw new MarinError("ZEPHYR_BAD_RECORD", `Record ${String(record)} does not fit the Arrow table: column ${column}: ${cause instanceof Error ? cause.message : String(cause)}.`, { data: { record, column }, cause });
    }
  }
  const children = fields.map((field, index) => dataOf(library, field, columns[index] ?? []));
  const type = new library.Struct(fields);
  return new library.Table(new library.Schema(fields), new library.RecordBatch(new library.Schema(fields), library.makeData({ type, length: record, nullCount: 0, children })));
}

/**
 * The rows of an Arrow table, exactly: timestamps to the nanosecond, decimals as text.
 *
 * @throws MarinError ZEPHYR_ARROW_UNSUPPORTED naming the column
 */
export async function fromArrowTable(table: Table): Promise<ArrowRecords> {
  const library = await import("apache-arrow");
  const schema = Object.fromEntries(table.schema.fields.map((field) => [field.name, typeOfField(library, field, field.name)]));
  const records: ParquetRecord[] = [];
  for (const { data } of table.batches) {
    for (let index = 0; index < data.length; index += 1) {
      records.push(Object.fromEntries(table.schema.fields.map((field, column) => [field.name, valueAt(library, data.children[column] as never, index)])));
    }
  }
  return { schema, records };
}

/**
 * Reads an Arrow IPC file, or stream, into memory; its buffers may be packed with LZ4 or zstd.
 *
 * @throws MarinError ZEPHYR_BAD_ARROW when it is none, or is cut short; what {@link fromArrowTable} throws; file errors
 */
export async function readArrowFile(path: string, { storage = currentStorage() }: { readonly storage?: Storage } = {}): Promise<ArrowRecords> {
  const library = await loadArrow();
  const bytes = await storage.read(path);
  const mark = Buffer.from("ARROW1");
  const isFile = mark.equals(bytes.subarray(0, 6));
  // The library takes a file whose end is missing for a shorter one.
  if (isFile && !mark.equals(bytes.subarray(-6))) throw badArrow(path, bytes.length, "its end is missing: it was cut short");
  let table: Table;
  try {
    table = library.tableFromIPC(bytes);
  } catch (cause) {
    throw badArrow(path, bytes.length, cause instanceof Error ? cause.message : String(cause), cause);
  }
  if (!isFile && table.schema.fields.length === 0) throw badArrow(path, bytes.length, "it holds no Arrow table");
  return fromArrowTable(table);
}

function badArrow(path: string, bytes: number, reason: string, cause?: unknown): MarinError {
  return new MarinError("ZEPHYR_BAD_ARROW", `${path} is not a whole Arrow file: ${reason}.`, { data: { path, bytes }, ...(cause === undefined ? {} : { cause }) });
}
