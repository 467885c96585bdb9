import { rmSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileError } from "./file-error.js";
import { removeDeadTemporaries, sweepOnce, temporaryPathFor } from "./temporary.js";

/** A directory of this process alone, removed when it is disposed of. */
export interface TemporaryDirectory extends AsyncDisposable {
  /** Where it is. */
  readonly path: string;
}

/** Those that are not disposed of yet. */
const living = new Set<string>();
let watchesExit = false;

/**
 * Makes a directory in the system's temporary one. It is removed when it is disposed of, or when the process exits before; what a killed process
 * has left is removed by the next one that makes a directory there.
 *
 * @param name - says what it is for, to people who find it
 * @throws MarinError RIGGING_DISK_FULL and the other file errors
 */
export async function makeTemporaryDirectory(name: string): Promise<TemporaryDirectory> {
  const parent = tmpdir();
  const path = temporaryPathFor(join(parent, name));
  await sweepOnce(parent);
  // For its owner alone: in the system's directory anybody may look.
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    throw fileError(error, { action: "make the temporary directory", path });
  });
  if (!watchesExit) process.once("exit", removeLiving);
  watchesExit = true;
  living.add(path);
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      await rm(path, { recursive: true, force: true });
      living.delete(path);
      // A killed process's own workers may have lived, and written, a moment longer than it.
      await removeDeadTemporaries(parent).catch(() => []);
    },
  };
}

function removeLiving(): void {
  for (const path of living) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      // Somebody still writes there: the next process that makes a directory removes it.
    }
  }
}
