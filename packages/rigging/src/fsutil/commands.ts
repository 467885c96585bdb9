import { readdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { MarinError } from "@marin/ducky";
import { formatBytes } from "../bytes.js";
import { StoragePath } from "../storage/path.js";
import type { Storage } from "../storage/storage.js";
import { hashOf } from "./copy.js";
import type { Terminal } from "./terminal.js";
import { targetOf, targetsOf } from "./targets.js";

/** What each command works with. */
export interface CommandContext {
  readonly storage: Storage;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

/** Lists what lies in directories, or all below them. */
export async function list({ storage, terminal, signal }: CommandContext, words: readonly string[], { recursive, long }: { readonly recursive: boolean; readonly long: boolean }): Promise<void> {
  const show = async (kind: string, path: string, bytes?: number): Promise<void> => {
    signal.throwIfAborted();
    const size = bytes === undefined ? "" : formatBytes(bytes);
    await terminal.result({ kind, path, ...(bytes === undefined ? {} : { bytes }) }, long ? `${size.padStart(10)}  ${path}` : path);
  };
  for (const word of words) {
    for (const target of await targetsOf(storage, word)) {
      if (target.kind === "file") await show("file", target.path, target.bytes);
      else if (recursive) for await (const { path, bytes } of storage.list(target.path)) await show("file", path, bytes);
      else for await (const entry of storage.listDirectory(target.path)) await show(entry.kind, entry.path, entry.kind === "file" ? entry.bytes : undefined);
    }
  }
}

/** Adds up sizes: of each word, and of the directories below it down to a depth. */
export async function diskUsage({ storage, terminal, signal }: CommandContext, words: readonly string[], { depth }: { readonly depth: number }): Promise<void> {
  for (const word of words) {
    for (const target of await targetsOf(storage, word)) {
      const sums = new Map([[target.path, { objects: 0, bytes: 0 }]]);
      const add = (path: string, bytes: number): void => {
        const sum = sums.get(path) ?? { objects: 0, bytes: 0 };
        sums.set(path, { objects: sum.objects + 1, bytes: sum.bytes + bytes });
      };
      if (target.kind === "file") add(target.path, target.bytes);
      else {
        for await (const { path, bytes } of storage.list(target.path)) {
          signal.throwIfAborted();
          const names = path.slice(target.path.length).split("/").slice(0, -1);
          for (let level = 0; level <= Math.min(depth, names.length); level++) add(target.path + names.slice(0, level).map((name) => `${name}/`).join(""), bytes);
          terminal.progress(() => `${String(sums.get(target.path)?.objects ?? 0)} objects`);
        }
      }
      for (const [path, { objects, bytes }] of sums) await terminal.result({ path, objects, bytes }, `${formatBytes(bytes).padStart(10)}  ${String(objects).padStart(8)}  ${path}`);
    }
  }
}

/** Writes objects to standard output, as they are. */
export async function concatenate({ storage, terminal, signal }: CommandContext, words: readonly string[], range: { readonly start?: number; readonly end?: number }): Promise<void> {
  for (const word of words) {
    for (const target of await targetsOf(storage, word)) {
      if (target.kind === "directory") throw isDirectory(target.path);
      for await (const chunk of storage.stream(target.path, { ...range, signal })) await terminal.write(chunk);
    }
  }
}

/** Hashes objects, and all below directories. */
export async function hash({ storage, terminal, signal }: CommandContext, words: readonly string[], { algorithm }: { readonly algorithm: string }): Promise<void> {
  for await (const { path, bytes } of objectsOf(storage, words)) {
    let done = 0;
    const digest = await hashOf(storage, path, algorithm, signal, (more) => {
      done += more;
      terminal.progress(() => `${path}: ${formatBytes(done)} of ${formatBytes(bytes)}`);
    });
    await terminal.result({ path, algorithm, hash: digest, bytes }, `${digest}  ${path}`);
  }
}

/** Removes objects, and with `recursive` all below directories. */
export async function remove({ storage, terminal, signal }: CommandContext, words: readonly string[], { recursive, force, dryRun }: { readonly recursive: boolean; readonly force: boolean; readonly dryRun: boolean }): Promise<void> {
  const paths: string[] = [];
  const directories: string[] = [];
  for (const word of words) {
    if (force && (await targetOf(storage, word)) === undefined && !/[*?[{]/.test(word)) continue;
    for (const target of await targetsOf(storage, word)) {
      if (target.kind === "file") paths.push(target.path);
      else if (!recursive) throw isDirectory(target.path);
      else {
        directories.push(target.path);
        for await (const { path } of storage.list(target.path)) paths.push(path);
      }
    }
  }
  for (const path of paths) {
    signal.throwIfAborted();
    if (!dryRun) await storage.remove(path);
    await terminal.result({ path, removed: !dryRun }, `${dryRun ? "would remove" : "removed"} ${path}`);
  }
  // A bucket's directories end with their last object; those of a disk stay.
  for (const directory of dryRun ? [] : directories) if (StoragePath.parse(directory).scheme === "") await removeEmptyDirectories(directory);
}

/** What is known of objects without reading them. */
export async function describe({ storage, terminal, signal }: CommandContext, words: readonly string[]): Promise<void> {
  for await (const { path } of objectsOf(storage, words)) {
    const found = await storage.stat(path, { signal });
    if (found !== undefined) await terminal.result({ path, ...found }, `${path}  ${String(found.bytes)} bytes  version ${found.version}${found.digest === undefined ? "" : `  ${found.digest}`}`);
  }
}

async function* objectsOf(storage: Storage, words: readonly string[]): AsyncGenerator<{ readonly path: string; readonly bytes: number }> {
  for (const word of words) {
    for (const target of await targetsOf(storage, word)) {
      if (target.kind === "file") yield target;
      else yield* storage.list(target.path);
    }
  }
}

function isDirectory(path: string): MarinError {
  return new MarinError("RIGGING_IS_DIRECTORY", `${path} is a directory: name its objects, or give -r where the command has it.`, { data: { path } });
}

async function removeEmptyDirectories(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) if (entry.isDirectory()) await removeEmptyDirectories(join(directory, entry.name));
  if ((await readdir(directory)).length === 0) await rmdir(directory);
}
