import type { DatasetSource } from "../dataset.js";

/** Takes records one by one into a file that appears when it is closed. */
interface RecordWriter<R, S> {
  write(record: R): Promise<void>;
  close(): Promise<S>;
  abort(): Promise<void>;
}

/** Writes all records of a source and closes the writer; aborts it, so that nothing appears, when the source or the writer fails. */
export async function writeAll<R, S>(writer: RecordWriter<R, S>, records: DatasetSource<R>): Promise<S> {
  try {
    for await (const record of records) await writer.write(record);
    return await writer.close();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
