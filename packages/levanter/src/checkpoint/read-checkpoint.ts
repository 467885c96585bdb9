import { availableParallelism } from "node:os";
import { join } from "node:path";
import { FileThread } from "./file-thread.js";
import { METADATA_FILE, type CheckpointMetadata } from "./metadata.js";
import { corruptFile, readSafetensors } from "./safetensors.js";
import type { CheckpointGroups } from "./write-checkpoint.js";

/** Bytes that keep one thread busy; more threads read a checkpoint that has more. */
const BYTES_PER_THREAD = 256 * 2 ** 20;
const MAX_THREADS = 4;

/**
 * Fills groups from a checkpoint, and checks size and digest of each file that they are in, several at once in threads. Groups that are not named stay
 * on the disk.
 *
 * @throws MarinError LEVANTER_CHECKPOINT_CORRUPT when a file is not as it was written, or lacks a group; the groups are void then
 */
export async function readCheckpoint(directory: string, metadata: CheckpointMetadata, groups: CheckpointGroups): Promise<void> {
  const files = Object.entries(metadata.files).filter(([, { group }]) => groups[group] !== undefined);
  for (const [group, { specs }] of Object.entries(groups)) {
    const found = files.flatMap(([, file]) => (file.group === group ? file.tensors : []));
    const wanted = Object.keys(specs);
    if (found.join("\n") !== wanted.join("\n")) throw corruptFile(join(directory, METADATA_FILE), `the ${group} ${wanted.join(", ")}`, found.join(", ") || "none");
  }
  const bytes = files.reduce((sum, [, file]) => sum + file.bytes, 0);
  const count = Math.max(1, Math.min(MAX_THREADS, availableParallelism(), files.length, Math.ceil(bytes / BYTES_PER_THREAD)));
  const threads = Array.from({ length: count }, () => new FileThread());
  try {
    const reads = files.map(([name, file], i) => {
      const path = join(directory, name);
      // One that is waited for later may fail first, so that a failure is a result here.
      const digest = (threads[i % count] as FileThread).digest(path).then((found) => ({ found, failure: undefined }), (failure: unknown) => ({ found: undefined, failure }));
      return { path, file, digest };
    });
    for (const { path, file, digest } of reads) {
      const { bytes: size, sha256, group, tensors } = file;
      const { specs = {}, buffers = {} } = groups[group] ?? {};
      const ofFile = Object.fromEntries(tensors.map((tensor) => [tensor, specs[tensor] ?? { shape: [], dtype: "float32" as const }]));
      const problem: unknown = await readSafetensors(path, ofFile, size, (tensor, values) => buffers[tensor]?.write(values)).then(() => undefined, (error: unknown) => error);
      const { found, failure } = await digest;
      if (found?.bytes === size && found.sha256 !== sha256) throw corruptFile(path, `SHA-256 ${sha256}`, found.sha256, problem);
      if (problem !== undefined) throw problem as Error;
      if (found?.bytes !== size) throw corruptFile(path, `${String(size)} bytes`, "no readable file", failure);
    }
  } finally {
    await Promise.all(threads.map((thread) => thread.close()));
  }
}
