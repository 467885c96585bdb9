import type { DatasetSource } from "../dataset.js";

/** Takes records one by one into something that appears when it is closed: a file, a store of tokens. */
export interface ShardWriter<T = unknown, S extends { readonly records: number; readonly bytes: number } = { readonly records: number; readonly bytes: number }> {
  /** Adds a record. Resolves when there is room for the next one. */
  write(record: T): Promise<void>;
  /** Puts what was written in its place, whole. */
  close(): Promise<S>;
  /** Drops everything; after {@link ShardWriter.close} it does nothing. */
  abort(): Promise<void>;
}

/** Writes all records of a source and closes the writer; aborts it, so that nothing appears, when the source or the writer fails. */
export async function writeAll<R, S extends { readonly records: number; readonly bytes: number }>(writer: ShardWriter<R, S>, records: DatasetSource<R>): Promise<S> {
  try {
    for await (const record of records) await writer.write(record);
    return await writer.close();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
