import { MarinError } from "@marin/ducky";
import { mkdirSync, statSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** Settings of {@link makeDirectory}. */
export interface MakeDirectoryOptions {
  /** Permissions of what is made, before the process's umask. Default 0o777. */
  readonly mode?: number;
}

/** How often a directory is tried again whose parent others remove at the same time. */
const maxTries = 3;

/**
 * Makes a directory and those around it, where they are missing. Node's own `recursive` tries without end where a file system has no such file and
 * lets none be made (/proc, /sys), which holds up a thread for ever.
 *
 * @throws what the system answers; MarinError RIGGING_ACCESS_DENIED for such a file system
 */
export async function makeDirectory(path: string, options: MakeDirectoryOptions = {}): Promise<void> {
  const isDirectory = async (each: string): Promise<boolean> => stat(each).then((found) => found.isDirectory(), () => false);
  for (let tries = 1; !(await isDirectory(path)); tries += 1) {
    try {
      return await mkdir(path, options);
    } catch (error) {
      if (await isDirectory(path)) return;
      const parent = aroundIt(path, error, tries);
      if (!(await isDirectory(parent))) await makeDirectory(parent, options);
    }
  }
}

/** The same, for what cannot wait. */
export function makeDirectorySync(path: string, options: MakeDirectoryOptions = {}): void {
  const isDirectory = (each: string): boolean => statSync(each, { throwIfNoEntry: false })?.isDirectory() === true;
  for (let tries = 1; !isDirectory(path); tries += 1) {
    try {
      mkdirSync(path, options);
      return;
    } catch (error) {
      if (isDirectory(path)) return;
      const parent = aroundIt(path, error, tries);
      if (!isDirectory(parent)) makeDirectorySync(parent, options);
    }
  }
}

/** The directory that has to be there first; throws where that is not what was missing. */
function aroundIt(path: string, error: unknown, tries: number): string {
  const parent = dirname(path);
  if ((error as NodeJS.ErrnoException).code !== "ENOENT" || parent === path) throw error;
  if (tries < maxTries) return parent;
  throw new MarinError("RIGGING_ACCESS_DENIED", `Cannot make the directory ${path}: the file system of ${parent} lets none be made there; choose a directory on another one.`, {
    data: { path, systemCode: "ENOENT" },
    cause: error,
  });
}
