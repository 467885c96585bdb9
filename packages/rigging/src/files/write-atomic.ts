import { MarinError } from "@marin/ducky";
import { type FileHandle, link, lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileError } from "./file-error.js";
import { sweepOnce, temporaryPathFor } from "./temporary.js";

/**
 * Writes a whole file so that at every moment, a crash or a power cut included, its path holds either what was there
 * before or all of the new content. The content goes to a temporary file in the same directory, is flushed to the disk,
 * renamed into place, and the directory is flushed. After a failure the temporary file is removed; what a killed process
 * left is removed by the next process that writes into the directory.
 *
 * @param path - the file; its directory must exist
 * @param data - text (written as UTF-8), bytes, or a stream of bytes
 * @param options - `ifAbsent`: write only where nothing is; of several that try at once exactly one succeeds. It needs a
 * file system with hard links. Default false. `mode`: the new file's permissions, before the process's umask. Default 0o666
 * @returns bytes written
 * @throws MarinError RIGGING_DISK_FULL (names the path and, unless the data is a stream, the bytes needed), RIGGING_ACCESS_DENIED, RIGGING_NOT_FOUND
 * (no such directory), RIGGING_IS_DIRECTORY, RIGGING_EXISTS (with `ifAbsent`); whatever the stream throws, unchanged
 */
export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array | AsyncIterable<Uint8Array>,
  { ifAbsent = false, mode = 0o666 }: { readonly ifAbsent?: boolean; readonly mode?: number } = {},
): Promise<number> {
  const directory = dirname(path);
  await sweepOnce(directory);
  const temporary = temporaryPathFor(path);
  const size = typeof data === "string" ? Buffer.byteLength(data) : data instanceof Uint8Array ? data.byteLength : undefined;
  let written = 0;
  try {
    const handle = await open(temporary, "wx", mode);
    try {
      for await (const chunk of chunksOf(data)) {
        await writeFully(handle, chunk);
        written += chunk.byteLength;
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (ifAbsent) await linkInto(temporary, path);
    else await rename(temporary, path);
    await syncDirectory(directory);
    return written;
  } catch (error) {
    await rm(temporary, { force: true });
    throw fileError(error, { action: "write", path, ...(size === undefined ? {} : { bytes: size }) });
  }
}

/**
 * Makes a directory appear whole or not at all: `fill` writes into a temporary directory beside it, then everything is
 * flushed to the disk and the directory is renamed into place. When `fill` throws, nothing is left behind.
 *
 * @param path - the directory to make; the directory around it must exist
 * @param fill - writes the content into the directory it is given
 * @throws MarinError RIGGING_EXISTS when there is already something at `path`, before and after `fill`; RIGGING_DISK_FULL
 * and the other file errors of {@link writeFileAtomic}; whatever `fill` throws, unchanged unless it is a system error
 */
export async function writeDirectoryAtomic(path: string, fill: (directory: string) => Promise<void>): Promise<void> {
  await refuseExisting(path);
  const parent = dirname(path);
  await sweepOnce(parent);
  const temporary = temporaryPathFor(path);
  try {
    await mkdir(temporary);
    await fill(temporary);
    await publishDirectory(temporary, path);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw fileError(error, { action: "write the directory", path });
  }
}

/**
 * Flushes a finished directory to the disk and renames it to `path`, on the same file system.
 *
 * @throws MarinError RIGGING_EXISTS when there is already something at `path`
 */
export async function publishDirectory(finished: string, path: string): Promise<void> {
  try {
    await syncTree(finished);
    await refuseExisting(path);
    await rename(finished, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    // Another process was faster between the check and the rename.
    if (["ENOTEMPTY", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw exists(path, error);
    throw fileError(error, { action: "write the directory", path });
  }
}

/** Unlike a rename, a link replaces nothing. */
async function linkInto(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new MarinError("RIGGING_EXISTS", `Cannot write ${path}: something is there already.`, { data: { path }, cause: error });
  }
  await rm(temporary, { force: true });
}

async function* chunksOf(data: string | Uint8Array | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (typeof data === "string") yield Buffer.from(data, "utf8");
  else if (data instanceof Uint8Array) yield data;
  else yield* data;
}

/** One write may take only a part (a nearly full disk, over 2 GiB): the rest is written until an error says why not. */
async function writeFully(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let offset = 0; offset < chunk.byteLength; ) {
    const { bytesWritten } = await handle.write(chunk, offset, Math.min(chunk.byteLength - offset, 2 ** 30));
    offset += bytesWritten;
  }
}

async function refuseExisting(path: string): Promise<void> {
  const found = await lstat(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw fileError(error, { action: "write the directory", path });
  });
  if (found !== undefined) throw exists(path);
}

function exists(path: string, cause?: unknown): MarinError {
  return new MarinError("RIGGING_EXISTS", `Cannot write the directory ${path}: something is there already; remove it or choose another path.`, {
    data: { path },
    ...(cause === undefined ? {} : { cause }),
  });
}

async function syncTree(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await syncTree(path);
    // Windows flushes only what is open for writing; elsewhere reading suffices, and serves write-protected files too.
    else if (entry.isFile()) await syncPath(path, process.platform === "win32" ? "r+" : "r");
  }
  await syncDirectory(directory);
}

async function syncDirectory(directory: string): Promise<void> {
  // Windows has no handle on a directory to flush.
  if (process.platform !== "win32") await syncPath(directory, "r");
}

async function syncPath(path: string, flags: "r" | "r+"): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
