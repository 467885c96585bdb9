import { MarinError, type Storage } from "@marin/iris";
import { ParquetReader } from "../readers/parquet.js";
import { conformer } from "../schema/conform.js";
import { SchemaInference } from "../schema/schema-inference.js";
import { inferenceNote, type ParquetFileOptions } from "./inferring-rows.js";
import { type ParquetSummary, ParquetWriter } from "./parquet.js";

/** A file that {@link giveOneSchema} has written anew. */
export interface RewrittenFile extends ParquetSummary {
  readonly path: string;
}

/**
 * Gives Parquet files whose schemas were inferred, each from its own records, the one schema that holds the records of all. Files that have it
 * already are left as they are; each other one is replaced whole. Can be repeated, and taken up after it was interrupted.
 *
 * @param paths - in order: the first file's columns come first
 * @param options - how the files are stored
 * @throws MarinError ZEPHYR_SCHEMA_CONFLICT naming two files, their records and both types; file errors
 */
export async function giveOneSchema(paths: readonly string[], { storage, signal, stored }: { readonly storage: Storage; readonly signal?: AbortSignal | undefined; readonly stored: ParquetFileOptions }): Promise<RewrittenFile[]> {
  const together = new SchemaInference(paths[0] ?? "");
  const files: { readonly path: string; readonly text: string; readonly notes: Readonly<Record<string, string>> }[] = [];
  for (const path of paths) {
    signal?.throwIfAborted();
    const reader = new ParquetReader({ path, storage });
    const notes = await reader.notes();
    const note = notes[inferenceNote];
    if (note === undefined) {
      throw new MarinError("ZEPHYR_SCHEMA_CONFLICT", `${path} was not written with an inferred schema, and cannot share one with the others: remove it, or give the schema.`, { data: { path } });
    }
    together.absorb(note, path);
    files.push({ path, text: JSON.stringify(await reader.schema()), notes });
  }
  const schema = together.schema();
  const text = JSON.stringify(schema);
  const conform = conformer(schema);
  const rewritten: RewrittenFile[] = [];
  for (const { path, text: present, notes } of files) {
    if (present === text) continue;
    await using writer = new ParquetWriter(path, { ...stored, schema, notes, storage });
    for await (const record of new ParquetReader({ path, storage, ...(signal === undefined ? {} : { signal }) })) await writer.write(conform(record));
    rewritten.push({ path, ...(await writer.close()) });
  }
  return rewritten;
}
