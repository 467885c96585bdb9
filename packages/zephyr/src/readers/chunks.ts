import { fileError } from "@marin/iris";
import { open } from "node:fs/promises";
import { gunzipChunks } from "./gzip.js";

/** Settings of {@link readChunks}. */
export interface ChunkOptions {
  /** Aborts the reading. Default: never. */
  readonly signal?: AbortSignal | undefined;
  /** Bytes read at once. Default 1 MiB. */
  readonly chunkBytes?: number | undefined;
}

/**
 * The bytes of a file, in order; those of a file whose name ends in .gz unpacked.
 *
 * @throws MarinError ZEPHYR_BAD_GZIP; RIGGING_NOT_FOUND and the other file errors; the signal's reason
 */
export function readChunks(path: string, options: ChunkOptions = {}): AsyncGenerator<Buffer> {
  const chunks = fileChunks(path, options);
  return path.toLowerCase().endsWith(".gz") ? gunzipChunks(path, chunks) : chunks;
}

async function* fileChunks(path: string, { signal, chunkBytes = 1 << 20 }: ChunkOptions): AsyncGenerator<Buffer> {
  const refuse = (error: unknown): never => {
    throw fileError(error, { action: "read", path });
  };
  signal?.throwIfAborted();
  const handle = await open(path).catch(refuse);
  try {
    for (;;) {
      signal?.throwIfAborted();
      // A fresh buffer each time: what is made of a chunk points into it.
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, null).catch(refuse);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}
