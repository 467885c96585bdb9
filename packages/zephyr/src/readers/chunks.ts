import type { Storage } from "@marin/iris";
import { asBuffer } from "../as-buffer.js";
import { unpack } from "../compression/unpack.js";
import { currentStorage } from "../storage.js";

/** Settings of {@link readChunks}. */
export interface ChunkOptions {
  /** Where the file lies. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage | undefined;
  /** Aborts the reading. Default: never. */
  readonly signal?: AbortSignal | undefined;
  /** Most bytes in a chunk. Default: as they come, about 1 MiB. */
  readonly chunkBytes?: number | undefined;
  /** The version of the file that is meant. Default: the one that is there when reading begins. */
  readonly version?: string | undefined;
  /** The first byte; only of a file that is not packed. Default 0. */
  readonly start?: number | undefined;
}

/**
 * The bytes of a file, in order; those of a file whose name ends in .gz, .zst or .xz unpacked.
 *
 * @throws MarinError ZEPHYR_BAD_GZIP, ZEPHYR_BAD_ZSTD, ZEPHYR_BAD_XZ, ZEPHYR_COMPRESSION_UNSUPPORTED; RIGGING_CHANGED when the
 * file changes while it is read; RIGGING_NOT_FOUND and the other file errors; the signal's reason
 */
export async function* readChunks(path: string, { storage = currentStorage(), signal, chunkBytes = Infinity, version, start = 0 }: ChunkOptions = {}): AsyncGenerator<Buffer> {
  const meant = version ?? (await localVersion(path, storage));
  const stored = storage.stream(path, { start, version: meant, signal });
  for await (const chunk of unpack(path, stored)) {
    const bytes = asBuffer(chunk);
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, Math.min(bytes.length, at + chunkBytes));
  }
}

/** The version of a local file; of others their drivers notice a change by themselves. */
async function localVersion(path: string, storage: Storage): Promise<string | undefined> {
  if (!isLocal(path)) return undefined;
  const found = await storage.stat(path);
  // Pipes and devices have no size, and change all the time.
  return found === undefined || found.bytes === 0 ? undefined : found.version;
}

/** Whether a path names a file of this machine's disks. */
export function isLocal(path: string): boolean {
  return !/^[a-z][a-z0-9+.-]+:\/\//i.test(path) || /^file:/i.test(path);
}
