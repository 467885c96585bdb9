import { access, mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileError, isMarinError, writeFileAtomic } from "@marin/iris";
import { encodeMetadata, METADATA_FILE, readCheckpointMetadata, requireCheckpoint, type CheckpointMetadata } from "./metadata.js";
import { corruptFile } from "./safetensors.js";

const REMOVED = ".removed-";
const KINDS = ["permanent", "temporary", "unknown"] as const;

/** A checkpoint as it lies on the disk. */
export interface StoredCheckpoint {
  readonly directory: string;
  readonly metadata: CheckpointMetadata;
}

/** Which checkpoints are kept after one was made. */
export interface Retention {
  /** Newest temporary ones kept, where the last one made is temporary itself; a permanent one ends them all. */
  readonly keepTemporary: number;
  /** Newest permanent ones kept. Default: all. */
  readonly keepPermanent?: number | undefined;
}

/** Where the checkpoint of a step lies under a root: `<root>/step-<8 digits>`. */
export function checkpointPath(root: string, step: number): string {
  return join(root, `step-${String(step).padStart(8, "0")}`);
}

/**
 * The newest checkpoint under any of the roots, its description verified: of the highest step, permanent before temporary, then the last
 * path; undefined when there is none. Directories that hold nothing of a checkpoint, and remains of interrupted writes, are passed over.
 *
 * @throws MarinError LEVANTER_CHECKPOINT_CORRUPT rather than silently falling back to an older one, also where its description is gone or is of another
 * step than its name; LEVANTER_CHECKPOINT_VERSION
 */
export async function newestCheckpoint(roots: readonly string[]): Promise<StoredCheckpoint | undefined> {
  const directories = (await Promise.all(roots.map(checkpointsUnder))).flat().sort();
  const newest = Math.max(...directories.map(stepOf));
  let found: StoredCheckpoint | undefined;
  for (const directory of directories.filter((path) => stepOf(path) === newest)) {
    const metadata = await readCheckpointMetadata(directory);
    if (metadata.step !== newest) throw corruptFile(join(directory, METADATA_FILE), `the description of step ${String(newest)}`, `that of step ${String(metadata.step)}`);
    if (found === undefined || !metadata.temporary || found.metadata.temporary) found = { directory, metadata };
  }
  return found;
}

/**
 * Deletes what the newest checkpoint has made superfluous, and what an earlier, interrupted deletion left. Descriptions are read anew: one that was
 * promoted meanwhile stays, and so does one whose description can't be read.
 */
export async function pruneCheckpoints(roots: readonly string[], { keepTemporary, keepPermanent = Infinity }: Retention): Promise<void> {
  for (const root of roots) await removeRemains(root);
  const stored = await Promise.all((await Promise.all(roots.map(checkpointsUnder))).flat().map(async (directory) => ({ directory, kind: await kindOf(directory) })));
  stored.sort((a, b) => stepOf(b.directory) - stepOf(a.directory) || KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  let [permanent, temporary] = [0, 0];
  for (const { directory, kind } of stored) {
    if (kind === "permanent") permanent += 1;
    if (kind === "temporary") temporary += 1;
    const superfluous = kind === "permanent" ? permanent > keepPermanent : kind === "temporary" && (permanent > 0 || temporary > keepTemporary);
    if (superfluous) await removeCheckpoint(directory);
  }
}

/**
 * Keeps a temporary checkpoint for good: no later one removes it.
 *
 * @param directory - of the checkpoint
 * @throws MarinError LEVANTER_CHECKPOINT_MISSING when there is none; LEVANTER_CHECKPOINT_CORRUPT, LEVANTER_CHECKPOINT_VERSION; file errors of `writeFileAtomic`
 */
export async function promoteCheckpoint(directory: string): Promise<void> {
  await requireCheckpoint(directory);
  const metadata = await readCheckpointMetadata(directory);
  if (metadata.temporary) await writeFileAtomic(join(directory, METADATA_FILE), encodeMetadata({ ...metadata, temporary: false }));
}

/** Makes the root of a checkpoint to be written, and clears its place of a directory that is no checkpoint. */
export async function makeRoomFor(path: string): Promise<void> {
  const root = dirname(path);
  await mkdir(root, { recursive: true }).catch((error: unknown) => {
    throw fileError(error, { action: "create the directory", path: root });
  });
  if ((await list(root)).includes(basename(path)) && !(await isComplete(path))) await removeCheckpoint(path);
}

/** Renamed first: a deletion that is cut short must not leave something that looks like a damaged checkpoint. */
async function removeCheckpoint(directory: string): Promise<void> {
  const removed = join(dirname(directory), REMOVED + basename(directory));
  await deleting(dirname(directory), async () => {
    await rename(directory, removed);
    await rm(removed, { recursive: true });
  });
}

async function removeRemains(root: string): Promise<void> {
  await deleting(root, async () => {
    for (const name of await list(root)) if (name.startsWith(REMOVED)) await rm(join(root, name), { recursive: true });
  });
}

async function deleting(root: string, remove: () => Promise<void>): Promise<void> {
  await remove().catch((error: unknown) => {
    throw fileError(error, { action: "delete old checkpoints in", path: root });
  });
}

async function kindOf(directory: string): Promise<(typeof KINDS)[number]> {
  try {
    return (await readCheckpointMetadata(directory)).temporary ? "temporary" : "permanent";
  } catch (error) {
    if (isMarinError(error)) return "unknown";
    throw error;
  }
}

function stepOf(directory: string): number {
  return Number(basename(directory).slice("step-".length));
}

async function checkpointsUnder(root: string): Promise<string[]> {
  const paths = (await list(root)).filter((name) => /^step-\d{8,}$/.test(name)).map((name) => join(resolve(root), name));
  const holding = await Promise.all(paths.map(holdsCheckpoint));
  return paths.filter((_, i) => holding[i] === true);
}

/** Whether something of a checkpoint is there. Directories appear whole: one without its description is a damaged checkpoint, and so is one that can't be looked into. */
async function holdsCheckpoint(directory: string): Promise<boolean> {
  try {
    return (await readdir(directory)).some((name) => name === METADATA_FILE || name.endsWith(".safetensors"));
  } catch (error) {
    return !["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
  }
}

function isComplete(directory: string): Promise<boolean> {
  return access(join(directory, METADATA_FILE)).then(() => true, () => false);
}

async function list(root: string): Promise<string[]> {
  return readdir(root).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw fileError(error, { action: "read the directory", path: root });
  });
}
