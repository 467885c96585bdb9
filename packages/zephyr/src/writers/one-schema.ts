import { isMarinError, MarinError, type Storage } from "@marin/iris";
import { ParquetReader } from "../readers/parquet.js";
import { conformer } from "../schema/conform.js";
import { SchemaInference } from "../schema/schema-inference.js";
import { inferenceNote, type ParquetFileOptions } from "./inferring-rows.js";
import { ParquetWriter } from "./parquet.js";

/** A file that {@link giveOneSchema} has looked at. */
export interface FileOfOneSchema {
  readonly path: string;
  /** Its size in bytes, as it is now. */
  readonly bytes: number;
  /** Whether it was written anew. */
  readonly rewritten: boolean;
}

/**
 * Gives Parquet files whose schemas were inferred, each from its own records, the one schema that holds the records of all. Files that have it
 * already are left as they are; each other one is replaced whole. Can be repeated, and taken up after it was interrupted.
 *
 * @param paths - in order: the first file's columns come first
 * @param options - how the files are stored
 * @throws MarinError ZEPHYR_SCHEMA_CONFLICT naming two files, their records and both types; file errors
 */
export async function giveOneSchema(paths: readonly string[], { storage, signal, stored }: { readonly storage: Storage; readonly signal?: AbortSignal | undefined; readonly stored: ParquetFileOptions }): Promise<FileOfOneSchema[]> {
  const together = new SchemaInference(paths[0] ?? "");
  const files: OpenedFile[] = [];
  // Several at a time, for where each answer takes a while; they are joined in order.
  for (let start = 0; start < paths.length; start += 16) {
    signal?.throwIfAborted();
    files.push(...(await Promise.all(paths.slice(start, start + 16).map((path) => openFile(path, storage)))));
  }
  for (const { path, notes } of files) absorb(together, path, notes[inferenceNote] ?? "{}");
  const schema = together.schema();
  const text = JSON.stringify(schema);
  const conform = conformer(schema);
  const finished: FileOfOneSchema[] = [];
  for (const { path, bytes, text: present, notes } of files) {
    signal?.throwIfAborted();
    finished.push(present === text ? { path, bytes, rewritten: false } : { path, bytes: await rewrite(path, notes), rewritten: true });
  }
  return finished;

  async function rewrite(path: string, notes: Readonly<Record<string, string>>): Promise<number> {
    await using writer = new ParquetWriter(path, { ...stored, schema, notes, storage });
    for await (const record of new ParquetReader({ path, storage, ...(signal === undefined ? {} : { signal }) })) await writer.write(conform(record));
    return (await writer.close()).bytes;
  }
}

/** @throws MarinError ZEPHYR_SCHEMA_CONFLICT, which says what has become of the files */
function absorb(together: SchemaInference, path: string, note: string): void {
  try {
    together.absorb(note, path);
  } catch (error) {
    if (!isMarinError(error, "ZEPHYR_SCHEMA_CONFLICT")) throw error;
    throw new MarinError(error.code, `${error.message} The files are left as they were written, each with the schema of its own records.`, { data: error.data, cause: error });
  }
}

/** What a file tells of itself. */
interface OpenedFile {
  readonly path: string;
  readonly bytes: number;
  /** Its schema. */
  readonly text: string;
  readonly notes: Readonly<Record<string, string>>;
}

async function openFile(path: string, storage: Storage): Promise<OpenedFile> {
  const reader = new ParquetReader({ path, storage });
  const notes = await reader.notes();
  if (notes[inferenceNote] === undefined) {
    throw new MarinError("ZEPHYR_SCHEMA_CONFLICT", `${path} was not written with an inferred schema, and cannot share one with the others: remove it, or give the schema.`, { data: { path } });
  }
  return { path, bytes: (await storage.stat(path))?.bytes ?? 0, text: JSON.stringify(await reader.schema()), notes };
}
