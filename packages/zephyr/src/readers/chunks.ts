import type { Storage } from "@marin/iris";
import { currentStorage } from "../storage.js";
import { gunzipChunks } from "./gzip.js";

/** Settings of {@link readChunks}. */
export interface ChunkOptions {
  /** Where the file lies. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage | undefined;
  /** Aborts the reading. Default: never. */
  readonly signal?: AbortSignal | undefined;
  /** Most bytes in a chunk. Default: as they come, about 1 MiB. */
  readonly chunkBytes?: number | undefined;
}

/**
 * The bytes of a file, in order; those of a file whose name ends in .gz unpacked.
 *
 * @throws MarinError ZEPHYR_BAD_GZIP; RIGGING_NOT_FOUND and the other file errors; the signal's reason
 */
export async function* readChunks(path: string, { storage = currentStorage(), signal, chunkBytes = Infinity }: ChunkOptions = {}): AsyncGenerator<Buffer> {
  const stored = storage.stream(path, signal === undefined ? {} : { signal });
  const chunks = path.toLowerCase().endsWith(".gz") ? gunzipChunks(path, stored) : stored;
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, Math.min(bytes.length, at + chunkBytes));
  }
}
