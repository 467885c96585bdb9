import { createHash, randomBytes } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { livenessOf, ownIdentity } from "../process-identity.js";

// ".<name>.<pid>_<started>_<scope>_<random>.tmp": the owner stands in the name, so that what a killed process left
// behind is told from what a running one is still writing.
const pattern = /^\.(.+)\.(\d+)_([A-Za-z0-9.-]*)_([0-9a-f]{12})_[0-9a-f]{12}\.tmp$/;

/** A new path beside `path` that carries this process's identity. Starts with ".", so listings pass over it. */
export function temporaryPathFor(path: string): string {
  const { pid, started, scope } = ownIdentity();
  const random = randomBytes(6).toString("hex");
  // File names end at 255 bytes on most systems: a long name is cut, the random part keeps it unique.
  const name = Buffer.from(basename(path)).subarray(0, 120).toString("utf8").replace(/\uFFFD+$/, "");
  return join(dirname(path), `.${name}.${String(pid)}_${started}_${scope}_${random}.tmp`);
}

/** The file beside `path` that is held while its condition is checked and it is written. */
export function writeLockFor(path: string): string {
  return join(dirname(path), `.${createHash("sha256").update(basename(path)).digest("hex").slice(0, 16)}.write-lock`);
}

/** Whether a name is that of a temporary file or directory, or of a lock that is held for the time of one write. */
export function isTemporaryName(name: string): boolean {
  return pattern.test(name) || /^\.[0-9a-f]{16}\.write-lock(\.|$)/.test(name);
}

/**
 * Removes from a directory the temporary files and directories that dead processes left there. Those of running processes,
 * and of other machines or containers, whose processes cannot be seen from here, stay, and so do other users' that this one may not remove.
 *
 * @returns the names removed, sorted; empty when there is no such directory
 */
export async function removeDeadTemporaries(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  });
  const removed: string[] = [];
  for (const name of names.sort()) {
    const [, , pid, started, scope] = pattern.exec(name) ?? [];
    if (pid === undefined || started === undefined || scope === undefined) continue;
    if (livenessOf({ pid: Number(pid), started, scope }) !== "dead") continue;
    const gone = await rm(join(directory, name), { recursive: true, force: true }).then(
      () => true,
      () => false,
    );
    if (gone) removed.push(name);
  }
  return removed;
}

/**
 * Removes the temporary files for a path that this process itself has left: those of a thread that was ended in the middle of a write. The caller
 * knows that nobody in this process writes the path now.
 */
export async function removeOwnTemporaries(path: string): Promise<void> {
  const directory = dirname(path);
  const names = await readdir(directory).catch(() => []);
  // All but the random part.
  const own = basename(temporaryPathFor(path)).slice(0, -"000000000000.tmp".length);
  for (const name of names) if (name.startsWith(own) && pattern.test(name)) await rm(join(directory, name), { recursive: true, force: true });
}

/** Directories whose leftovers this process has already looked for. */
const swept = new Set<string>();

/** {@link removeDeadTemporaries}, the first time that this process asks for it. */
export async function sweepOnce(directory: string): Promise<void> {
  const key = resolve(directory);
  if (swept.has(key)) return;
  swept.add(key);
  // A leftover that cannot be removed is in nobody's way.
  await removeDeadTemporaries(directory).catch(() => []);
}
