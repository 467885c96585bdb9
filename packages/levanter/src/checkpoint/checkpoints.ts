import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileError, writeDirectoryAtomic, writeFileAtomic } from "@marin/iris";
import type { EngineBuffer, Specs } from "../engine/types.js";
import {
  CHECKPOINT_VERSION,
  encodeMetadata,
  jsonDigest,
  METADATA_FILE,
  OPTIMIZER_FILE,
  PARAMETERS_FILE,
  readCheckpointMetadata,
  type CheckpointMetadata,
  type RunIdentity,
} from "./metadata.js";
import { readSafetensors, writeSafetensors } from "./safetensors.js";

const REMOVED = ".removed-";

/** Buffers by parameter name, as a training state holds them. */
export type NamedBuffers = Readonly<Record<string, EngineBuffer>>;

/** What a checkpoint saves and restores. */
export interface CheckpointState {
  /** Specs of the parameters, in checkpoint order. */
  readonly specs: Specs;
  readonly parameters: NamedBuffers;
  readonly firstMoments: NamedBuffers;
  readonly secondMoments: NamedBuffers;
}

/**
 * Writes the checkpoint of a step to `<root>/step-<8 digits>` and returns its path. The directory appears whole, flushed to the disk, or not at all;
 * each tensor is copied to the host once, one after the other. File errors are those of `writeDirectoryAtomic` (`RIGGING_DISK_FULL`, ...).
 */
export async function saveCheckpoint(root: string, step: number, state: CheckpointState, run: RunIdentity, engine: string): Promise<string> {
  await mkdir(root, { recursive: true }).catch((error: unknown) => {
    throw fileError(error, { action: "create the directory", path: root });
  });
  const path = checkpointPath(root, step);
  await writeDirectoryAtomic(path, async (directory) => {
    const parameters = await writeSafetensors(join(directory, PARAMETERS_FILE), state.specs, (name) => read(state.parameters, name));
    const moments = await writeSafetensors(join(directory, OPTIMIZER_FILE), momentSpecs(state.specs), (name) => {
      const { buffers, parameter } = momentOf(state, name);
      return read(buffers, parameter);
    });
    const metadata: CheckpointMetadata = {
      formatVersion: CHECKPOINT_VERSION,
      step,
      engine,
      run: { ...run },
      runFingerprint: jsonDigest(run),
      files: { [PARAMETERS_FILE]: parameters, [OPTIMIZER_FILE]: moments },
    };
    await writeFileAtomic(join(directory, METADATA_FILE), encodeMetadata(metadata));
  });
  return path;
}

/** Fills a training state from a checkpoint. Throws `LEVANTER_CHECKPOINT_CORRUPT` when a file is not as it was written; the state is void then. */
export async function restoreCheckpoint(directory: string, metadata: CheckpointMetadata, state: CheckpointState): Promise<void> {
  await restoreParameters(directory, metadata, state.specs, state.parameters);
  await readSafetensors(join(directory, OPTIMIZER_FILE), momentSpecs(state.specs), metadata.files[OPTIMIZER_FILE], (name, values) => {
    const { buffers, parameter } = momentOf(state, name);
    buffers[parameter]?.write(values);
  });
}

/** Fills parameters from a checkpoint. Throws as {@link restoreCheckpoint} does. */
export async function restoreParameters(directory: string, metadata: CheckpointMetadata, specs: Specs, parameters: NamedBuffers): Promise<void> {
  await readSafetensors(join(directory, PARAMETERS_FILE), specs, metadata.files[PARAMETERS_FILE], (name, values) => {
    parameters[name]?.write(values);
  });
}

/** A checkpoint as it lies on the disk. */
export interface StoredCheckpoint {
  readonly directory: string;
  readonly metadata: CheckpointMetadata;
}

/**
 * The newest checkpoint under `root`, its description verified; undefined when there is none. Remains of interrupted writes are passed over. Throws
 * `LEVANTER_CHECKPOINT_CORRUPT` rather than falling back to an older one silently.
 */
export async function newestCheckpoint(root: string): Promise<StoredCheckpoint | undefined> {
  const name = (await checkpointNames(root)).at(-1);
  if (name === undefined) return undefined;
  const directory = join(root, name);
  return { directory, metadata: await readCheckpointMetadata(directory) };
}

/** Deletes all but the newest `keep` checkpoints, and what an earlier, interrupted deletion left. */
export async function pruneCheckpoints(root: string, keep: number): Promise<void> {
  try {
    for (const name of (await checkpointNames(root)).slice(0, -keep)) {
      // Renamed first: a deletion that is cut short must not leave something that looks like a damaged checkpoint.
      await rename(join(root, name), join(root, REMOVED + name));
    }
    for (const name of await list(root)) {
      if (name.startsWith(REMOVED)) await rm(join(root, name), { recursive: true });
    }
  } catch (error) {
    throw fileError(error, { action: "delete old checkpoints in", path: root });
  }
}

function checkpointPath(root: string, step: number): string {
  return join(root, `step-${String(step).padStart(8, "0")}`);
}

async function checkpointNames(root: string): Promise<string[]> {
  const step = (name: string): number => Number(name.slice("step-".length));
  return (await list(root)).filter((name) => /^step-\d{8,}$/.test(name)).sort((a, b) => step(a) - step(b));
}

async function list(root: string): Promise<string[]> {
  return readdir(root).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  });
}

function momentSpecs(specs: Specs): Specs {
  const of = (moment: string): [string, Specs[string]][] => Object.entries(specs).map(([name, spec]) => [`${moment}/${name}`, spec]);
  return Object.fromEntries([...of("first"), ...of("second")]);
}

function momentOf(state: CheckpointState, name: string): { buffers: NamedBuffers; parameter: string } {
  const slash = name.indexOf("/");
  return { buffers: name.startsWith("first/") ? state.firstMoments : state.secondMoments, parameter: name.slice(slash + 1) };
}

async function read(buffers: NamedBuffers, name: string): Promise<Float32Array> {
  const data = await buffers[name]?.read();
  if (!(data instanceof Float32Array)) throw new TypeError(`parameter ${name} is not held as float32`);
  return data;
}
