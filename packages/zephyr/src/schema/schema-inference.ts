import { MarinError } from "@marin/iris";
import type { DatasetSource } from "../dataset.js";
import type { ParquetSchema } from "../parquet/types.js";
import { ColumnInference, type Progress } from "./inference.js";
import { absorbNote, type ColumnNote, noteOf } from "./inference-note.js";

/** Finds the schema that holds all records it has looked at. */
export class SchemaInference {
  readonly #columns = new ColumnInference("");
  readonly #progress: Progress;

  /** @param file - what the records are called in messages */
  constructor(file: string) {
    this.#progress = { file, record: 0, changes: 0, bytes: 0 };
  }

  /** Counts up whenever the schema may have become another. */
  get changes(): number {
    return this.#progress.changes;
  }

  /** Roughly the bytes that the records' values take. */
  get bytes(): number {
    return this.#progress.bytes;
  }

  /**
   * Looks at a record.
   *
   * @throws MarinError ZEPHYR_SCHEMA_CONFLICT naming file, record, column and both types; ZEPHYR_BAD_RECORD for a value that no
   * column holds
   */
  observe(record: unknown): void {
    const progress = this.#progress;
    progress.record += 1;
    if (typeof record !== "object" || record === null || Array.isArray(record) || ArrayBuffer.isView(record) || record instanceof Date || record instanceof Map) {
      const what = record === null ? "null" : Array.isArray(record) ? "a list" : typeof record;
      throw new MarinError("ZEPHYR_BAD_RECORD", `${progress.file}, record ${String(progress.record)} is ${what}, and a row of columns is needed: make it an object with map() before.`, {
        data: { path: progress.file, record: progress.record },
      });
    }
    this.#columns.observeFields(record as Readonly<Record<string, unknown>>, progress);
  }

  /**
   * The columns in the order in which they were first seen, all nullable. One that was always null is text.
   */
  schema(): ParquetSchema {
    return this.#columns.schema();
  }

  /** What is known, as text that {@link SchemaInference.absorb} takes. */
  note(): string {
    return JSON.stringify(noteOf(this.#columns));
  }

  /**
   * Adds what another one has found, in another file.
   *
   * @throws MarinError ZEPHYR_SCHEMA_CONFLICT naming both files and both records
   */
  absorb(note: string, file: string): void {
    absorbNote(this.#columns, JSON.parse(note) as ColumnNote, { ...this.#progress, file, record: -1 });
  }
}

/**
 * The schema that holds all records of a source, whatever their order: a column is nullable, exists if any record has it, and has the type
 * that holds all its values exactly. Whole numbers are int64 (uint64 when they need it), float64 once a number is no whole one; typed arrays
 * are lists of their own type; Dates are timestamp-millis; a column that is always null is text.
 *
 * @param records - a dataset, a reader, an array; it is read to its end
 * @param options - `path` is what messages call the source. Default "the source"
 * @throws MarinError ZEPHYR_SCHEMA_CONFLICT naming path, record, column and both types: int64 and string, an int64 beyond 2^53 and a
 * float64; ZEPHYR_BAD_RECORD for a value that no column holds; whatever the source throws, unchanged
 */
export async function inferSchema(records: DatasetSource<unknown>, { path = "the source" }: { readonly path?: string } = {}): Promise<ParquetSchema> {
  const inference = new SchemaInference(path);
  for await (const record of records) inference.observe(record);
  return inference.schema();
}
