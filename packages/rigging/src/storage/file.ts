import { type FileHandle, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { MarinError } from "@marin/ducky";
import { type FileOperation, fileError } from "../files/file-error.js";
import { isTemporaryName } from "../files/temporary.js";
import { writeFileAtomic } from "../files/write-atomic.js";
import { byUtf8, type Range, rangeOf, untilAborted } from "./range.js";
import type { ReadOptions, Storage, StorageEntry, StorageStat, WriteOptions } from "./storage.js";

/** Bytes read at once. */
const chunkBytes = 1 << 20;

/** Files of the local disk, by plain path or file: URL. */
export class FileStorage implements Storage {
  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    const range = rangeOf(path, options);
    options.signal?.throwIfAborted();
    return withFile(path, async (handle, local) => {
      const { size } = await handle.stat().catch(refuse("read", local));
      const bytes = new Uint8Array(Math.max(0, Math.min(range.end, size) - range.start));
      let filled = 0;
      while (filled < bytes.length) {
        const { bytesRead } = await handle.read(bytes, filled, Math.min(bytes.length - filled, 2 ** 30), range.start + filled).catch(refuse("read", local));
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return filled === bytes.length ? bytes : bytes.slice(0, filled);
    });
  }

  async *stream(path: string, options: ReadOptions = {}): AsyncGenerator<Uint8Array> {
    const range = rangeOf(path, options);
    const local = localPath(path);
    const handle = await open(local).catch(refuse("read", local));
    try {
      for await (const chunk of untilAborted(chunksOf(handle, local, range), options.signal)) yield chunk;
    } finally {
      await handle.close();
    }
  }

  async stat(path: string): Promise<StorageStat | undefined> {
    const local = localPath(path);
    const found = await stat(local, { bigint: true }).catch((error: unknown) => {
      if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
      throw fileError(error, { action: "read", path: local });
    });
    // A directory is no object.
    if (found === undefined || found.isDirectory()) return undefined;
    return { bytes: Number(found.size), version: [found.ino, found.mtimeNs, found.size].join("-") };
  }

  async *list(prefix: string): AsyncGenerator<StorageEntry> {
    const local = localPath(prefix);
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

  async write(path: string, data: Uint8Array | string | AsyncIterable<Uint8Array>, { ifAbsent = false, signal }: WriteOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    const local = localPath(path);
    await mkdir(dirname(resolve(local)), { recursive: true }).catch(refuse("write", local));
    const checked = typeof data === "string" || data instanceof Uint8Array ? data : untilAborted(data, signal);
    await writeFileAtomic(local, checked, { ifAbsent });
  }

  async remove(path: string): Promise<boolean> {
    const local = localPath(path);
    try {
      await rm(local);
      return true;
    } catch (error) {
      if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
      throw fileError(error, { action: "remove", path: local });
    }
  }
}

function localPath(path: string): string {
  if (!path.startsWith("file:")) return path;
  try {
    return fileURLToPath(path);
  } catch (cause) {
    throw new MarinError("RIGGING_BAD_PATH", `${path} is no path of this machine: ${cause instanceof Error ? cause.message : String(cause)}.`, { data: { path }, cause });
  }
}

function refuse(action: FileOperation["action"], path: string): (error: unknown) => never {
  return (error) => {
    throw fileError(error, { action, path });
  };
}

async function withFile<T>(path: string, use: (handle: FileHandle, local: string) => Promise<T>): Promise<T> {
  const local = localPath(path);
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

async function collect(directory: string, shown: string, beginning: string, paths: string[]): Promise<void> {
  const entries = await readdir(directory === "" ? "." : directory, { withFileTypes: true }).catch((error: unknown) => {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw fileError(error, { action: "list", path: directory });
  });
  for (const entry of entries) {
    if (!entry.name.startsWith(beginning) || isTemporaryName(entry.name)) continue;
    if (entry.isDirectory()) await collect(join(directory, entry.name), `${shown}${entry.name}/`, "", paths);
    else if (entry.isFile() || entry.isSymbolicLink()) paths.push(`${shown}${entry.name}`);
  }
}
