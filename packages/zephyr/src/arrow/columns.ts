import type * as Arrow from "apache-arrow";
import type { RowGroupPart } from "../parquet/codec.js";
import { columnEncoders } from "../parquet/encode.js";
import type { ParquetFile } from "../parquet/file.js";
import type { SchemaNode } from "../parquet/format.js";
import { readColumns } from "../parquet/read-parts.js";
import type { ParquetSchema, ParquetValue } from "../parquet/types.js";
import { type ArrowLibrary, dataOf, fieldOf } from "./build.js";

/**
 * Rows of a Parquet file as an Arrow table. Numbers without nulls are taken over as they were decoded, all together.
 *
 * @throws MarinError ZEPHYR_ARROW_UNSUPPORTED naming the type
 */
export async function arrowTableOf(file: ParquetFile, part: RowGroupPart, columns: readonly SchemaNode[], schema: ParquetSchema): Promise<Arrow.Table> {
  const library = await import("apache-arrow");
  const chosen = columns.map(({ element: { name } }) => [name, schema[name] ?? "bytes"] as const);
  const fields = chosen.map(([name, type]) => fieldOf(library, name, type));
  const encoders = columnEncoders(Object.fromEntries(chosen));
  const values = columns.length === 0 ? [] : await readColumns(file, part, columns);
  const children = fields.map((field, column) => columnData(library, field, values[column] ?? [], encoders.get(field.name)));
  const batchSchema = new library.Schema(fields);
  const length = part.end - part.start;
  return new library.Table(batchSchema, new library.RecordBatch(batchSchema, library.makeData({ type: new library.Struct(fields), length, nullCount: 0, children })));
}

function columnData(library: ArrowLibrary, field: Arrow.Field, values: ArrayLike<ParquetValue>, encode: ((value: unknown, size: { bytes: number }) => unknown) | undefined): Arrow.Data {
  const type = field.type as Arrow.DataType;
  const { ArrayType } = type as { readonly ArrayType?: unknown };
  if (ArrayBuffer.isView(values) && typeof ArrayType === "function" && values instanceof ArrayType) {
    return library.makeData({ type, length: values.length, nullCount: 0, data: values } as never);
  }
  const size = { bytes: 0 };
  return dataOf(library, field, Array.from(values, (value) => (encode === undefined ? value : encode(value, size))));
}
