import { MarinError } from "@marin/iris";
import { asBuffer } from "../as-buffer.js";
import type { WholeFile } from "../writers/whole-file.js";
import { Misfit } from "./encode.js";
import type { ParquetEncoder, ParquetEncoderOptions, ParquetReadRequest } from "./codec.js";
import type { ParquetFile } from "./file.js";
import { type LiteWriter, loadLite } from "./parquetjs-lite.js";
import { typeOf } from "./schema.js";
import type { ParquetCompression, ParquetRecord, ParquetScalar, ParquetType, ParquetValue } from "./types.js";

/** What the profile of parquetjs-lite calls our types. Left out is whatever it does not hold exactly, or cannot read back. */
const types: Readonly<Partial<Record<ParquetScalar, string>>> = {
  boolean: "BOOLEAN",
  int8: "INT_8",
  int16: "INT_16",
  int32: "INT32",
  int64: "INT64",
  uint8: "UINT_8",
  uint16: "UINT_16",
  float32: "FLOAT",
  float64: "DOUBLE",
  string: "UTF8",
  bytes: "BYTE_ARRAY",
  date: "DATE",
};

const codecs: Readonly<Partial<Record<ParquetCompression, string>>> = { uncompressed: "UNCOMPRESSED", snappy: "SNAPPY", gzip: "GZIP" };

/** Writes with parquetjs-lite: format version 1, pages v1. */
export class LiteEncoder implements ParquetEncoder {
  readonly #options: ParquetEncoderOptions;
  readonly #columns: readonly { readonly name: string; readonly type: ParquetType; readonly optional: boolean }[];
  #writer: Promise<LiteWriter> | undefined;

  /** @throws MarinError ZEPHYR_PARQUET_UNSUPPORTED naming the column or the codec that is outside of the library's profile */
  constructor(options: ParquetEncoderOptions) {
    const { schema, compression, compressionLevel, pageVersion } = options;
    if (pageVersion !== 1) throw unsupported("it writes pages of version 1 only that it reads itself", { pageVersion });
    if (codecs[compression] === undefined) {
      throw unsupported(`it does not know the compression ${compression}; use ${Object.keys(codecs).join(", ")}`, { compression });
    }
    if (compressionLevel !== undefined) throw unsupported("it lets nobody choose a level of compression", { compressionLevel });
    this.#options = options;
    this.#columns = Object.entries(schema).map(([name, type]) => ({ name, type: innerType(type), optional: typeof type === "object" && "nullable" in type }));
    for (const { name, type } of this.#columns) {
      if (typeof type === "string" && types[type] !== undefined) continue;
      const shown = typeof type === "string" ? type : (Object.keys(type)[0] ?? "");
      throw unsupported(`it does not hold the type ${shown} of column ${name} exactly; it holds ${Object.keys(types).join(", ")}, each nullable or not, and nothing nested`, { column: name, type: shown });
    }
  }

  stored(row: unknown[]): unknown[] {
    return this.#columns.map(({ name, type }, index) => toLite(row[index], type, name));
  }

  async rowGroup(file: WholeFile, rows: readonly (readonly unknown[])[]): Promise<void> {
    const writer = await this.#open(file);
    writer.setRowGroupSize(rows.length);
    for (const row of rows) await thrown(() => writer.appendRow(Object.fromEntries(this.#columns.map(({ name }, index) => [name, row[index]]))));
  }

  async finish(file: WholeFile): Promise<void> {
    const writer = await this.#open(file);
    for (const [key, value] of Object.entries(this.#options.notes())) writer.setMetadata(key, value);
    await thrown(() => writer.close());
  }

  #open(file: WholeFile): Promise<LiteWriter> {
    return (this.#writer ??= this.#begin(file));
  }

  async #begin(file: WholeFile): Promise<LiteWriter> {
    const library = await loadLite();
    const { compression } = this.#options;
    const fields = this.#columns.map(({ name, type, optional }) => [name, { type: types[type as ParquetScalar] ?? "", optional, compression: codecs[compression] ?? "", statistics: false }] as const);
    const sink = {
      write: (bytes: Uint8Array, done: (error?: unknown) => void) => void file.write(bytes).then(() => done(), done),
      end: (done: (error?: unknown) => void) => done(),
    };
    const writer = await library.ParquetWriter.openStream(new library.ParquetSchema(Object.fromEntries(fields)), sink, { useDataPageV2: false });
    return writer;
  }
}

/** Rows in a batch. */
const batchRows = 1000;

/**
 * The rows of a file, read by the library, whole in memory.
 *
 * @throws MarinError ZEPHYR_PARQUET_UNSUPPORTED when the file is outside of its profile
 */
export async function* readLite({ source, metadata }: ParquetFile, { columns, parts, signal }: ParquetReadRequest): AsyncGenerator<ParquetRecord[]> {
  const { path } = source;
  const chosen = columns.map((node) => ({ name: node.element.name, type: innerType(typeOf(node)) }));
  const foreign = chosen.find(({ type }) => typeof type !== "string" || types[type] === undefined);
  if (foreign !== undefined) throw outside(path, `column ${foreign.name} has a type that it does not hold exactly`);
  signal?.throwIfAborted();
  const [library, bytes] = await Promise.all([loadLite(), source.read(0, source.bytes)]);
  const starts = metadata.groups.reduce<number[]>((before, { rows }) => [...before, (before.at(-1) ?? 0) + rows], [0]);
  const wanted: { readonly start: number; readonly end: number }[] = [];
  for await (const { group, start, end } of parts) wanted.push({ start: (starts[group] ?? 0) + start, end: (starts[group] ?? 0) + end });
  let batch: ParquetRecord[] = [];
  try {
    const reader = await library.ParquetReader.openBuffer(asBuffer(bytes), { rawStatistics: true });
    const cursor = reader.getCursor(chosen.map(({ name }) => name));
    for (let row = 0, next = await cursor.next(); next !== null; next = await cursor.next(), row += 1) {
      const values = next;
      if (!wanted.some(({ start, end }) => row >= start && row < end)) continue;
      batch.push(Object.fromEntries(chosen.map(({ name, type }) => [name, fromLite(values[name], type)])));
      if (batch.length < batchRows) continue;
      signal?.throwIfAborted();
      yield batch;
      batch = [];
    }
  } catch (cause) {
    signal?.throwIfAborted();
    // It throws strings as well.
    throw outside(path, cause instanceof Error ? cause.message : String(cause), cause);
  }
  yield batch;
}

function innerType(type: ParquetType): ParquetType {
  return typeof type === "object" && "nullable" in type ? type.nullable : type;
}

function toLite(value: unknown, type: ParquetType, column: string): unknown {
  if (value === null) return null;
  if (type === "int64") {
    const number = Number(value as bigint);
    if (!Number.isSafeInteger(number)) throw new Misfit(column, `parquetjs-lite holds no whole number beyond ${String(Number.MAX_SAFE_INTEGER)} exactly, found ${String(value as bigint)}`);
    return number;
  }
  if (type === "date") return new Date((value as number) * 86_400_000);
  if ((type === "float32" || type === "float64") && (Number.isNaN(value) || Object.is(value, -0))) {
    throw new Misfit(column, `parquetjs-lite does not hold ${Object.is(value, -0) ? "-0" : "NaN"}`);
  }
  return value;
}

function fromLite(value: unknown, type: ParquetType): ParquetValue {
  if (value === undefined || value === null) return null;
  if (type === "int64") return BigInt(value as bigint | number);
  return type === "bytes" ? Uint8Array.from(value as Buffer) : (value as ParquetValue);
}

/** The library throws strings. */
async function thrown<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Error ? error : new Error(String(error));
  }
}

function unsupported(reason: string, data: Readonly<Record<string, unknown>>): MarinError {
  return new MarinError("ZEPHYR_PARQUET_UNSUPPORTED", `parquetjs-lite cannot write this file: ${reason}. The default codec can.`, { data });
}

function outside(path: string, reason: string, cause?: unknown): MarinError {
  return new MarinError("ZEPHYR_PARQUET_UNSUPPORTED", `parquetjs-lite does not read ${path}: ${reason}. It reads what it has written itself; leave out the option codec to read all files.`, {
    data: { path, reason },
    ...(cause === undefined ? {} : { cause }),
  });
}
