import type { Specs } from "../engine/types.js";
import type { CheckpointMetadata, RunIdentity } from "./metadata.js";
import { DEFAULT_FILE_BYTES } from "./files-of-groups.js";
import { readCheckpoint } from "./read-checkpoint.js";
import * as stored from "./stored-checkpoints.js";
import { takeSnapshot, writeCheckpoint, type CheckpointGroups, type NamedBuffers } from "./write-checkpoint.js";

export type { NamedBuffers } from "./write-checkpoint.js";

/** What a checkpoint saves and restores. */
export interface CheckpointState {
  /** Specs of the parameters, in checkpoint order. */
  readonly specs: Specs;
  readonly parameters: NamedBuffers;
  readonly firstMoments: NamedBuffers;
  readonly secondMoments: NamedBuffers;
}

/**
 * Writes the checkpoint of a step to `<root>/step-<8 digits>` and returns its path. The directory appears whole, flushed to the disk, or not at all.
 * File errors are those of `writeDirectoryAtomic` (`RIGGING_DISK_FULL`, ...).
 */
export async function saveCheckpoint(root: string, step: number, state: CheckpointState, run: RunIdentity, engine: string): Promise<string> {
  const path = stored.checkpointPath(root, step);
  await writeCheckpoint(path, await takeSnapshot(groupsOf(state)), { step, temporary: false, engine, run, state: null }, DEFAULT_FILE_BYTES);
  return path;
}

/** Fills a training state from a checkpoint. Throws `LEVANTER_CHECKPOINT_CORRUPT` when a file is not as it was written; the state is void then. */
export async function restoreCheckpoint(directory: string, metadata: CheckpointMetadata, state: CheckpointState): Promise<void> {
  await readCheckpoint(directory, metadata, groupsOf(state));
}

/** The newest checkpoint under `root`; undefined when there is none. Throws `LEVANTER_CHECKPOINT_CORRUPT` rather than falling back to an older one. */
export function newestCheckpoint(root: string): Promise<stored.StoredCheckpoint | undefined> {
  return stored.newestCheckpoint([root]);
}

/** Deletes all but the newest `keep` checkpoints, and what an earlier, interrupted deletion left. */
export function pruneCheckpoints(root: string, keep: number): Promise<void> {
  return stored.pruneCheckpoints([root], { keepTemporary: keep, keepPermanent: keep });
}

/** The parameters, and AdamW's moments under names such as `first/wte`. */
function groupsOf({ specs, parameters, firstMoments, secondMoments }: CheckpointState): CheckpointGroups {
  const named = <T>(moment: string, values: Readonly<Record<string, T>>): Record<string, T> => Object.fromEntries(Object.entries(values).map(([name, value]) => [`${moment}/${name}`, value]));
  return {
    parameters: { specs, buffers: parameters },
    optimizer: { specs: { ...named("first", specs), ...named("second", specs) }, buffers: { ...named("first", firstMoments), ...named("second", secondMoments) } },
  };
}
