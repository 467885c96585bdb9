import { MarinError, type Storage } from "@marin/iris";

/** A file that can be read in parts. */
export interface ByteSource {
  /** For messages. */
  readonly path: string;
  /** Size in bytes. */
  readonly bytes: number;
  /** The bytes from `start` up to, not including, `end`; fewer where the file ends before. */
  read(start: number, end: number): Promise<Uint8Array>;
}

/**
 * A file as one that can be read in parts.
 *
 * @throws MarinError RIGGING_NOT_FOUND and the other file errors
 */
export async function openSource(path: string, storage: Storage): Promise<ByteSource> {
  const found = await storage.stat(path);
  if (found === undefined) {
    // Reading tells why: nothing is there, or a directory is.
    await storage.read(path, { start: 0, end: 1 });
    throw new MarinError("RIGGING_NOT_FOUND", `Cannot read ${path}: it is no file.`, { data: { path } });
  }
  return { path, bytes: found.bytes, read: (start, end) => storage.read(path, { start, end }) };
}
