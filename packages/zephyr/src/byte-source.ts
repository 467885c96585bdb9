import { MarinError, type Storage } from "@marin/iris";

/** A file that can be read in parts. */
export interface ByteSource {
  /** For messages. */
  readonly path: string;
  /** Size in bytes. */
  readonly bytes: number;
  /** The bytes from `start` up to, not including, `end`; fewer where the file ends before. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** The same, in chunks as they come. */
  stream(start: number, end: number): AsyncIterable<Uint8Array>;
}

/** Which file is meant, and for how long. */
export interface OpenSourceOptions {
  /** The version that is meant. Default: the one that is there. */
  readonly version?: string | undefined;
  /** Aborts every read. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A file as one that can be read in parts, all of them of one version: a file that changes meanwhile is an error.
 *
 * @throws MarinError RIGGING_NOT_FOUND and the other file errors; reads also RIGGING_CHANGED
 */
export async function openSource(path: string, storage: Storage, { version: meant, signal }: OpenSourceOptions = {}): Promise<ByteSource> {
  const found = await storage.stat(path, { signal });
  if (found === undefined) throw await missing(path, storage);
  const version = meant ?? found.version;
  return {
    path,
    bytes: found.bytes,
    read: (start, end) => storage.read(path, { start, end, version, signal }),
    stream: (start, end) => storage.stream(path, { start, end, version, signal }),
  };
}

/** Why nothing can be read at a path: reading tells whether nothing is there or a directory is. */
export async function missing(path: string, storage: Storage): Promise<unknown> {
  try {
    await storage.read(path, { start: 0, end: 1 });
  } catch (error) {
    return error;
  }
  return new MarinError("RIGGING_NOT_FOUND", `Cannot read ${path}: it is no file.`, { data: { path } });
}
