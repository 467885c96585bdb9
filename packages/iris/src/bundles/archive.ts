import { constants } from "node:fs";
import { open, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline, type Readable, type Writable } from "node:stream";
import { createGunzip, createGzip, type Gunzip, type Gzip } from "node:zlib";
import { extract, type Header, pack } from "tar-stream";
import { MarinError, fileError, isMarinError, makeDirectory } from "../platform.js";
import { directoriesOf, unsafeLink, unsafePath } from "./archive-path.js";
import type { TreeEntry } from "./tree.js";

/** Bytes read of a file at once. */
const chunkBytes = 1 << 18;

/**
 * A tar archive of files and links, in their order. The bytes depend on paths, contents, executable bits and links' targets alone: no
 * time, owner or machine goes into them.
 *
 * @param root - the directory that the entries are in
 * @throws MarinError IRIS_FILE_CHANGED when a file does not have the size of its entry any more; file errors; the signal's reason
 */
export async function* packArchive(root: string, entries: readonly TreeEntry[], signal?: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  const archive = pack();
  const fed = feed(archive, root, entries, signal).then(
    () => void (archive.destroyed ? undefined : archive.finalize()),
    (error: unknown) => void archive.destroy(error as Error),
  );
  try {
    for await (const chunk of archive as unknown as AsyncIterable<Buffer>) yield chunk;
  } finally {
    archive.destroy();
    await fed;
  }
}

/** One entry after the other: the library would take in whole files ahead of those who read. */
async function feed(archive: ReturnType<typeof pack>, root: string, entries: readonly TreeEntry[], signal: AbortSignal | undefined): Promise<void> {
  for (const { path, bytes, executable, target } of entries) {
    signal?.throwIfAborted();
    const common = { name: path, mode: executable ? 0o755 : 0o644, mtime: new Date(0), uid: 0, gid: 0 };
    if (target === undefined) await feedFile(archive.entry({ ...common, type: "file", size: bytes }) as unknown as Writable, join(root, path), bytes, signal);
    else archive.entry({ ...common, type: "symlink", linkname: target, mode: 0o777 });
  }
}

async function feedFile(sink: Writable, path: string, bytes: number, signal: AbortSignal | undefined): Promise<void> {
  sink.on("error", () => undefined);
  const changed = (): MarinError => new MarinError("IRIS_FILE_CHANGED", `${path} was changed while it was archived: do it again when nothing writes there.`, { data: { path } });
  // Not through a link that has taken its place.
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch((error: unknown) => {
    throw fileError(error, { action: "read", path });
  });
  try {
    if ((await file.stat()).size !== bytes) throw changed();
    for (let at = 0; at < bytes; ) {
      signal?.throwIfAborted();
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(chunkBytes, bytes - at)), 0, undefined, at);
      if (bytesRead === 0) throw changed();
      at += bytesRead;
      if (sink.destroyed) return;
      if (!sink.write(buffer.subarray(0, bytesRead))) await drained(sink);
    }
    sink.end();
    if (!sink.destroyed) await new Promise((resolve) => sink.once("close", resolve));
  } finally {
    await file.close();
  }
}

/** What {@link unpackArchive} takes at most. */
export interface ArchiveLimits {
  /** Bytes of all files together. */
  readonly maxBytes: number;
  /** Files, links and directories. */
  readonly maxEntries: number;
  /** Whether the files get no permission to write, for a directory that several use. Default false. */
  readonly readOnly?: boolean;
}

/**
 * Unpacks a tar archive into an empty directory that nobody else writes to. Nothing of it is made outside: names and links are checked, links are made
 * last, so that no file is written through one. Times, owners and all modes but the executable bit are ignored.
 *
 * @param tar - the archive's bytes, not compressed
 * @param directory - an existing, empty directory; what was made is left there after an error
 * @throws MarinError IRIS_BAD_ARCHIVE for what is no archive, is damaged, leads out of the directory, or is larger than the limits;
 * file errors; whatever the stream throws; the signal's reason
 */
export async function unpackArchive(tar: AsyncIterable<Uint8Array>, directory: string, limits: ArchiveLimits, signal?: AbortSignal): Promise<void> {
  const reader = extract();
  const links = new Map<string, string>();
  const kinds = new Map<string, "directory" | "file">();
  let left = limits.maxBytes;
  let count = 0;
  let sourceFailure: { readonly error: unknown } | undefined;
  const fed = feedReader(reader as unknown as Writable, tar, limits, signal).catch((error: unknown) => {
    sourceFailure = { error };
    reader.destroy(error as Error);
  });
  try {
    for await (const entry of reader as unknown as AsyncIterable<Readable & { readonly header: Header }>) {
      const { name, size = 0, type, mode = 0, linkname } = entry.header;
      const path = type === "directory" ? name.replace(/\/$/, "") : name;
      const problem = unsafePath(path);
      if (problem !== undefined) throw refused(path, problem);
      if ((count += 1) > limits.maxEntries) throw refused(path, `more than ${String(limits.maxEntries)} entries`);
      if ((left -= size) < 0) throw refused(path, `more than ${String(limits.maxBytes)} bytes`);
      if (kinds.has(path) || links.has(path)) throw refused(path, "a name that is there twice");
      if ([...directoriesOf([path])].some((parent) => links.has(parent) || kinds.get(parent) === "file")) throw refused(path, "a name below something that is no directory");
      if (type === "directory") await makeDirectory(join(directory, path));
      else if (type === "file") await unpackFile(entry, join(directory, path), ((mode & 0o100) === 0 ? 0o644 : 0o755) & (limits.readOnly === true ? 0o555 : 0o777), signal);
      else if (type === "symlink") links.set(path, linkname ?? "");
      else throw refused(path, `a ${String(type)}, which is neither file, directory nor link`);
      if (type !== "symlink") kinds.set(path, type);
      entry.resume();
    }
    await fed;
    if (sourceFailure !== undefined) throw sourceFailure.error;
    for (const parent of directoriesOf([...kinds.keys(), ...links.keys()])) kinds.set(parent, "directory");
    const kindOf = (path: string): "directory" | "file" | "link" | undefined => (links.has(path) ? "link" : kinds.get(path));
    for (const [path, target] of links) {
      const problem = kinds.has(path) ? "a name that is there twice" : unsafeLink(path, target, kindOf);
      if (problem !== undefined) throw refused(path, problem);
      await makeDirectory(dirname(join(directory, path)));
      await symlink(target, join(directory, path));
    }
  } catch (error) {
    reader.destroy();
    await fed;
    if (sourceFailure !== undefined) throw sourceFailure.error;
    signal?.throwIfAborted();
    const known = fileError(error, { action: "unpack into", path: directory });
    if (isMarinError(known)) throw known;
    throw new MarinError("IRIS_BAD_ARCHIVE", `The archive is damaged: ${known instanceof Error && !("code" in known) ? known.message : "it ends too early"}.`, { cause: error });
  }
}

/** Hands the bytes on. The archive's padding counts too: a few packed bytes may stand for any number of zeros. */
async function feedReader(reader: Writable, tar: AsyncIterable<Uint8Array>, { maxBytes, maxEntries }: ArchiveLimits, signal: AbortSignal | undefined): Promise<void> {
  let left = maxBytes + 4096 * maxEntries + (1 << 20);
  for await (const chunk of tar) {
    signal?.throwIfAborted();
    if ((left -= chunk.length) < 0) throw refused("the archive", `more than ${String(maxBytes)} bytes with its padding`);
    if (reader.destroyed) return;
    if (!reader.write(chunk)) await drained(reader);
  }
  reader.end();
}

/** Waits until a stream takes more, or takes none any more. */
async function drained(stream: Writable): Promise<void> {
  if (stream.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      stream.off("drain", done).off("close", done);
      resolve();
    };
    stream.on("drain", done).on("close", done);
  });
}

async function unpackFile(content: AsyncIterable<Uint8Array>, path: string, mode: number, signal: AbortSignal | undefined): Promise<void> {
  await makeDirectory(dirname(path));
  const file = await open(path, "wx", mode);
  try {
    for await (const chunk of content) {
      signal?.throwIfAborted();
      await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
}

function refused(path: string, problem: string): MarinError {
  return new MarinError("IRIS_BAD_ARCHIVE", `The archive is refused: ${JSON.stringify(path)} is ${problem}.`, { data: { path, problem } });
}

/** The archive's bytes, compressed. Equal archives may be compressed to different bytes by different versions of Node. */
export function compressed(tar: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return through(tar, createGzip());
}

/** The bytes that were compressed. @throws MarinError IRIS_BAD_ARCHIVE when they are no result of {@link compressed} */
export async function* decompressed(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* through(bytes, createGunzip());
  } catch (error) {
    if (!(error instanceof Error && "errno" in error && "code" in error && String(error.code).startsWith("Z_"))) throw error;
    throw new MarinError("IRIS_BAD_ARCHIVE", `The archive is damaged: ${error.message}.`, { cause: error });
  }
}

async function* through(source: AsyncIterable<Uint8Array>, transform: Gzip | Gunzip): AsyncGenerator<Uint8Array, void, void> {
  // An error on either side reaches the other; that of the source is what the loop throws.
  pipeline(source, transform, () => undefined);
  for await (const chunk of transform) yield chunk as Buffer;
}
