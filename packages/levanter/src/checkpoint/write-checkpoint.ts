import { join } from "node:path";
import { writeDirectoryAtomic, writeFileAtomic } from "@marin/iris";
import type { EngineBuffer, Specs } from "../engine/types.js";
import { elementCount } from "../engine/shape.js";
import { FileThread } from "./file-thread.js";
import { filesOfGroups } from "./files-of-groups.js";
import { CHECKPOINT_VERSION, encodeMetadata, jsonDigest, METADATA_FILE, requireJson, type CheckpointMetadata, type JsonValue, type RunIdentity } from "./metadata.js";
import { safetensorsHeader } from "./safetensors.js";
import { makeRoomFor } from "./stored-checkpoints.js";

/** Buffers by parameter name, as a training state holds them. */
export type NamedBuffers = Readonly<Record<string, EngineBuffer>>;

/** Tensors that belong together. */
export interface CheckpointGroup {
  /** Names, shapes and order of its tensors, all float32. */
  readonly specs: Specs;
  readonly buffers: NamedBuffers;
}

/** Groups by name: letters, digits and `-`, for they become names of files. */
export type CheckpointGroups = Readonly<Record<string, CheckpointGroup>>;

/** Groups in host memory, at one moment. */
export interface Snapshot {
  readonly groups: Readonly<Record<string, { readonly specs: Specs; readonly values: Readonly<Record<string, Float32Array>> }>>;
}

/** What a checkpoint says beside its tensors. */
export interface CheckpointDescription {
  readonly step: number;
  readonly temporary: boolean;
  readonly engine: string;
  readonly run: RunIdentity;
  readonly state: JsonValue;
}

/** Host memory that a copy of groups takes, in bytes. */
export function snapshotBytesOf(groups: CheckpointGroups): number {
  return Object.values(groups).reduce((sum, { specs }) => sum + Object.values(specs).reduce((bytes, { shape }) => bytes + 4 * elementCount(shape), 0), 0);
}

/** Copies groups to host memory, once. */
export async function takeSnapshot(groups: CheckpointGroups): Promise<Snapshot> {
  const taken: Record<string, { specs: Specs; values: Record<string, Float32Array> }> = {};
  for (const [group, { specs, buffers }] of Object.entries(groups)) {
    const values: Record<string, Float32Array> = {};
    for (const [name, spec] of Object.entries(specs)) {
      const data = await buffers[name]?.read();
      if (!(data instanceof Float32Array) || data.length !== elementCount(spec.shape)) {
        throw new TypeError(`tensor ${name} of ${group} is not held as float32 of shape [${spec.shape.join(", ")}]`);
      }
      values[name] = data;
    }
    taken[group] = { specs, values };
  }
  return { groups: taken };
}

/**
 * Writes a checkpoint to `path` in a thread of its own. The directory appears whole, flushed to the disk, or not at all. The snapshot's memory is moved
 * to the thread and freed file by file. File errors are those of `writeDirectoryAtomic` (`RIGGING_DISK_FULL`, ...).
 *
 * @param maxFileBytes - bytes of tensors in a file, at most
 */
export async function writeCheckpoint(path: string, snapshot: Snapshot, description: CheckpointDescription, maxFileBytes: number): Promise<void> {
  await makeRoomFor(path);
  await writeDirectoryAtomic(path, async (directory) => {
    const specs = Object.fromEntries(Object.entries(snapshot.groups).map(([group, taken]) => [group, taken.specs]));
    const planned = filesOfGroups(specs, maxFileBytes);
    const thread = new FileThread();
    try {
      const writing = planned.map(({ name, group, specs: tensors }) => {
        const values = Object.keys(tensors).map((tensor) => bytesOf(snapshot.groups[group]?.values[tensor] ?? new Float32Array()));
        return thread.write(join(directory, name), [safetensorsHeader(tensors), ...values]);
      });
      const digests = await Promise.all(writing);
      const files = planned.flatMap(({ name, group, specs: tensors }, i) => {
        const digest = digests[i];
        return digest === undefined ? [] : [[name, { ...digest, group, tensors: Object.keys(tensors) }] as const];
      });
      const { step, temporary, engine, run, state } = description;
      const metadata: CheckpointMetadata = {
        formatVersion: CHECKPOINT_VERSION,
        step,
        temporary,
        engine,
        run: { ...run },
        runFingerprint: jsonDigest(run),
        state: requireJson(state),
        files: Object.fromEntries(files),
      };
      await writeFileAtomic(join(directory, METADATA_FILE), encodeMetadata(metadata));
    } finally {
      await thread.close();
    }
  });
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
