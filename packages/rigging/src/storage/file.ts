import { createHash } from "node:crypto";
import type { BigIntStats, Dirent } from "node:fs";
import { type FileHandle, link, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { MarinError } from "@marin/ducky";
import { type FileOperation, fileError } from "../files/file-error.js";
import { makeDirectory } from "../files/make-directory.js";
import { isTemporaryName, writeLockFor } from "../files/temporary.js";
import { writeFileAtomic } from "../files/write-atomic.js";
import { withFileLock } from "../locks.js";
import { changed, notThatVersion } from "./changed.js";
import { localPathOf } from "./path.js";
import { byUtf8, type Range, rangeOf, untilAborted } from "./range.js";
import { asDirectory, sortedEntries } from "./scheme-storage.js";
import type { DirectoryEntry, ReadOptions, StorageDriver, StorageEntry, StorageStat, VersionedContent, WriteIfOptions, WriteOptions } from "./storage.js";

/** Bytes read at once. */
const chunkBytes = 1 << 20;

/** Files of the local disk, by plain path or file: URL. */
export class FileStorage implements StorageDriver {
  readonly remote = false;

  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    const range = rangeOf(path, options);
    options.signal?.throwIfAborted();
    return withFile(path, async (handle, local) => {
      const { size } = await checkVersion(handle, path, options.version);
      const bytes = new Uint8Array(Math.max(0, Math.min(range.end, size) - range.start));
      let filled = 0;
      while (filled < bytes.length) {
        const { bytesRead } = await handle.read(bytes, filled, Math.min(bytes.length - filled, 2 ** 30), range.start + filled).catch(refuse("read", local));
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      if (options.version !== undefined) await checkVersion(handle, path, options.version);
      return filled === bytes.length ? bytes : bytes.slice(0, filled);
    });
  }

  async *stream(path: string, options: ReadOptions = {}): AsyncGenerator<Uint8Array> {
    const range = rangeOf(path, options);
    const local = localPathOf(path);
    const handle = await open(local).catch(refuse("read", local));
    try {
      await checkVersion(handle, path, options.version);
      for await (const chunk of untilAborted(chunksOf(handle, local, range), options.signal)) yield chunk;
      await checkVersion(handle, path, options.version);
    } finally {
      await handle.close();
    }
  }

  async stat(path: string): Promise<StorageStat | undefined> {
    const local = localPathOf(path);
    const found = await stat(local, { bigint: true }).catch((error: unknown) => {
      if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
      throw fileError(error, { action: "read", path: local });
    });
    // A directory is no object.
    if (found === undefined || found.isDirectory()) return undefined;
    return { bytes: Number(found.size), version: versionOf(found) };
  }

  async *list(prefix: string): AsyncGenerator<StorageEntry> {
    const local = localPathOf(prefix);
    // What lies behind the last separator is the beginning of a name.
    const cut = Math.max(prefix.lastIndexOf("/"), sep === "\\" ? prefix.lastIndexOf("\\") : -1) + 1;
    const directory = cut === prefix.length ? local : dirname(local);
    const paths: string[] = [];
    await collect(directory, prefix.slice(0, cut), prefix.slice(cut), paths);
    for (const path of paths.sort(byUtf8)) {
      const found = await this.stat(path);
      if (found !== undefined) yield { path, bytes: found.bytes };
    }
  }

  async *listDirectory(directory: string): AsyncGenerator<DirectoryEntry> {
    const found: DirectoryEntry[] = [];
    for (const entry of await entriesOf(localPathOf(directory))) {
      const path = directory + entry.name;
      if (entry.isDirectory()) found.push({ kind: "directory", path: `${path}/` });
      const known = entry.isDirectory() ? undefined : await this.stat(path);
      if (known !== undefined) found.push({ kind: "file", path, bytes: known.bytes });
    }
    yield* sortedEntries(found);
  }

  async write(path: string, data: Uint8Array | string | AsyncIterable<Uint8Array>, { ifAbsent = false, signal }: WriteOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    const local = fileNameOf(path);
    await makeDirectory(dirname(resolve(local))).catch(refuse("write", local));
    const checked = typeof data === "string" || data instanceof Uint8Array ? data : untilAborted(data, signal);
    await writeFileAtomic(local, checked, { ifAbsent });
  }

  async readVersioned(path: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<VersionedContent | undefined> {
    try {
      return await withFile(path, async (handle, local) => {
        signal?.throwIfAborted();
        const before = await handle.stat({ bigint: true }).catch(refuse("read", local));
        const content = await handle.readFile().catch(refuse("read", local));
        return { content, version: `${versionOf(before)}-${createHash("sha256").update(content).digest("hex").slice(0, 16)}` };
      });
    } catch (error) {
      if (error instanceof MarinError && error.code === "RIGGING_NOT_FOUND") return undefined;
      throw error;
    }
  }

  async writeIf(path: string, data: Uint8Array | string, { version, signal }: WriteIfOptions): Promise<string> {
    const local = fileNameOf(path);
    await makeDirectory(dirname(resolve(local))).catch(refuse("write", local));
    return withFileLock(
      writeLockFor(local),
      async () => {
        const found = await this.readVersioned(path);
        if (found?.version !== version) throw changed(path, { expected: version, found: found?.version });
        signal?.throwIfAborted();
        await writeFileAtomic(local, data);
        const written = await this.readVersioned(path);
        if (written === undefined) throw changed(path, { expected: version, found: undefined, mayHaveBeenWritten: true });
        return written.version;
      },
      { signal },
    );
  }

  async rename(from: string, to: string, { ifAbsent = false }: WriteOptions = {}): Promise<void> {
    const [source, target] = [localPathOf(from), fileNameOf(to)];
    if ((await this.stat(from)) === undefined) throw new MarinError("RIGGING_NOT_FOUND", `Cannot rename ${from}: there is no such file.`, { data: { path: from } });
    try {
      await makeDirectory(dirname(resolve(target)));
      if (!ifAbsent) return await rename(source, target);
      // Unlike a rename, a link replaces nothing.
      await link(source, target);
      await rm(source);
    } catch (error) {
      throw fileError(error, { action: "rename", path: from });
    }
  }

  async remove(path: string): Promise<boolean> {
    const local = localPathOf(path);
    try {
      await rm(local);
      return true;
    } catch (error) {
      if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
      throw fileError(error, { action: "remove", path: local });
    }
  }
}

/** Where a file is to be written. */
function fileNameOf(path: string): string {
  if (/[/\\]$/.test(path) && asDirectory(path) === path) throw new MarinError("RIGGING_BAD_PATH", `Cannot write ${path}: it names a directory; give the file in it a name.`, { data: { path } });
  return localPathOf(path);
}

function refuse(action: FileOperation["action"], path: string): (error: unknown) => never {
  return (error) => {
    throw fileError(error, { action, path });
  };
}

async function withFile<T>(path: string, use: (handle: FileHandle, local: string) => Promise<T>): Promise<T> {
  const local = localPathOf(path);
  const handle = await open(local).catch(refuse("read", local));
  try {
    return await use(handle, local);
  } finally {
    await handle.close();
  }
}

async function* chunksOf(handle: FileHandle, path: string, { start, end }: Range): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; ) {
    const length = Math.min(chunkBytes, end - at);
    // A fresh buffer each time: what is made of a chunk may point into it.
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, at).catch(refuse("read", path));
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

async function checkVersion(handle: FileHandle, path: string, version: string | undefined): Promise<{ readonly size: number }> {
  const found = await handle.stat({ bigint: true }).catch(refuse("read", path));
  if (version !== undefined && versionOf(found) !== version) throw notThatVersion(path, { expected: version, found: versionOf(found) });
  return { size: Number(found.size) };
}

function versionOf({ ino, mtimeNs, size }: BigIntStats): string {
  return [ino, mtimeNs, size].join("-");
}

async function collect(directory: string, shown: string, beginning: string, paths: string[]): Promise<void> {
  for (const entry of await entriesOf(directory)) {
    if (!entry.name.startsWith(beginning)) continue;
    if (entry.isDirectory()) await collect(join(directory, entry.name), `${shown}${entry.name}/`, "", paths);
    else paths.push(`${shown}${entry.name}`);
  }
}

/** Files, links and directories, without those of running writers. */
async function entriesOf(directory: string): Promise<Dirent[]> {
  const entries = await readdir(directory === "" ? "." : directory, { withFileTypes: true }).catch((error: unknown) => {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw fileError(error, { action: "list", path: directory });
  });
  return entries.filter((entry) => !isTemporaryName(entry.name) && (entry.isDirectory() || entry.isFile() || entry.isSymbolicLink()));
}
