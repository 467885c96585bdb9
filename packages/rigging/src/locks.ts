import { isMarinError, MarinError } from "@marin/ducky";
import { randomUUID } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { fileError } from "./files/file-error.js";
import { makeDirectory } from "./files/make-directory.js";
import { temporaryPathFor } from "./files/temporary.js";
import { livenessOf, ownIdentity, type ProcessIdentity, processIdentitySchema } from "./process-identity.js";

/** A directory held by this process until released or until the process ends, however it ends. */
export interface DirectoryLock extends AsyncDisposable {
  /** The lock's file, inside the directory. */
  readonly path: string;
  /** Gives the directory back. A second call does nothing. */
  release(): Promise<void>;
}

/** Name of the file that {@link lockDirectory} keeps in the directory. */
export const lockFileName = ".lock";

const lockSchema = z.strictObject({
  id: z.string().describe("unique name of this lock"),
  owner: processIdentitySchema.describe("the process that holds it"),
  since: z.string().describe("when it was taken, ISO 8601"),
  onBehalfOf: processIdentitySchema.optional().describe("the process that the owner works for and does not outlive for long"),
});

/** Settings of {@link lockDirectory}. */
export interface DirectoryLockOptions {
  /**
   * The process that this one works for, when this one ends soon after it. Others that meet the lock then learn whether it is
   * about to go: `data.orphaned`. Default: none, this process works for itself.
   */
  readonly onBehalfOf?: ProcessIdentity | undefined;
}

/** What file systems without hard links answer. */
const noLinks: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

type LockRecord = z.output<typeof lockSchema>;

/**
 * Takes a directory for this process alone (it is made when missing). The lock of a process that was killed is taken over
 * at once: its file names the process by id and start time, so a reused process id is not mistaken for the owner.
 *
 * @param directory - the directory to hold
 * @throws MarinError RIGGING_LOCKED when another running process, or this one, holds it; `data.pid` is the owner, and
 * `data.orphaned` tells whether the process that the owner works for is gone, so that the owner will be gone soon as well.
 * RIGGING_LOCKED, too, for an owner on another machine or container, whose state cannot be seen from here
 */
export async function lockDirectory(directory: string, { onBehalfOf }: DirectoryLockOptions = {}): Promise<DirectoryLock> {
  const path = join(directory, lockFileName);
  const record: LockRecord = { id: randomUUID(), owner: ownIdentity(), since: new Date().toISOString(), ...(onBehalfOf === undefined ? {} : { onBehalfOf }) };
  try {
    await makeDirectory(directory);
    await acquire(path, record, directory).catch(async (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      // The last holder has just removed the directory with its lock.
      await makeDirectory(directory);
      await acquire(path, record, directory);
    });
  } catch (error) {
    throw fileError(error, { action: "lock the directory", path: directory });
  }
  let released: Promise<void> | undefined;
  const release = (): Promise<void> => (released ??= releaseLock(path, record));
  return { path, release, [Symbol.asyncDispose]: release };
}

/** Settings of {@link withFileLock}. */
export interface FileLockOptions {
  /** Stops the waiting. Default: never. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for others, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
}

/**
 * Runs work while no other holder of the lock file at `path` does, in this process or another of this machine. The lock of a killed process
 * is taken over at once; one of a process that stands still is waited for.
 *
 * @throws MarinError RIGGING_LOCKED when the time is over; whatever the work throws
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>, { signal, timeoutMs = 60_000 }: FileLockOptions = {}): Promise<T> {
  const record: LockRecord = { id: randomUUID(), owner: ownIdentity(), since: new Date().toISOString() };
  const giveUpAt = performance.now() + timeoutMs;
  for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 50)) {
    signal?.throwIfAborted();
    try {
      await acquire(path, record, path);
      break;
    } catch (error) {
      if (!isMarinError(error, "RIGGING_LOCKED") || performance.now() > giveUpAt) throw fileError(error, { action: "lock", path });
      // Chance parts those that came at the same time.
      await setTimeout(waitMs * (0.5 + Math.random()), undefined, signal === undefined ? {} : { signal });
    }
  }
  try {
    return await work();
  } finally {
    await releaseLock(path, record);
  }
}

async function acquire(path: string, record: LockRecord, directory: string): Promise<void> {
  while (!(await createExclusively(path, record))) {
    const found = await readLock(path);
    if (found === undefined) continue; // Released in between.
    if (livenessOf(found.owner) !== "dead") throw locked(directory, path, found);
    await removeDead(path, found.id, directory);
  }
}

/**
 * Removes the dead process's lock `id` at `path`. Of several processes that try, only the one that holds `<path>.<id>` may
 * remove it, and only while it still is lock `id`: otherwise a slow one could remove the lock that a fast one has just taken.
 */
async function removeDead(path: string, id: string, directory: string): Promise<void> {
  const claim: LockRecord = { id: randomUUID(), owner: ownIdentity(), since: new Date().toISOString() };
  const claimPath = `${path}.${id}`;
  await acquire(claimPath, claim, directory);
  try {
    if ((await readLock(path))?.id === id) await rm(path, { force: true });
  } finally {
    await rm(claimPath, { force: true });
  }
}

/**
 * Creates the file with its content in one step, so that nobody reads half of it; false when it exists. On a file system
 * without hard links it takes two steps: who reads between them is told that the lock file is not readable.
 */
async function createExclusively(path: string, record: LockRecord): Promise<boolean> {
  const temporary = temporaryPathFor(path);
  try {
    await writeFile(temporary, JSON.stringify(record), { flag: "wx" });
    await link(temporary, path).catch(async (error: unknown) => {
      if (!noLinks.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
      await writeFile(path, JSON.stringify(record), { flag: "wx" });
    });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function readLock(path: string): Promise<LockRecord | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return lockSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new MarinError("RIGGING_BAD_LOCK", `${path} is not a lock file of this program; if nothing uses the directory, remove it.`, {
      data: { path },
      cause,
    });
  }
}

async function releaseLock(path: string, record: LockRecord): Promise<void> {
  const found = await readLock(path);
  if (found?.id === record.id) await rm(path, { force: true });
}

function locked(directory: string, path: string, { owner, since, onBehalfOf }: LockRecord): MarinError {
  const foreign = owner.scope !== ownIdentity().scope;
  const who = owner.pid === process.pid && !foreign ? "this process" : `process ${String(owner.pid)}${foreign ? " on another machine or container" : ""}`;
  const remedy = foreign ? `if that process is gone, remove ${path}` : "wait for it, stop it, or choose another directory";
  return new MarinError("RIGGING_LOCKED", `${directory} is in use by ${who} since ${since}: ${remedy}.`, {
    data: { directory, path, pid: owner.pid, since, elsewhere: foreign, orphaned: onBehalfOf !== undefined && livenessOf(onBehalfOf) === "dead" },
  });
}
