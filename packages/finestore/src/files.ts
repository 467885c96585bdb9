import { fileError, MarinError } from "@marin/rigging";
import { lstat, mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { badFile } from "./errors.js";

/** Every file under a directory, but those whose path is skipped. */
export async function* walkFiles(root: string, skipped: readonly string[], inside = ""): AsyncGenerator<{ path: string; bytes: number }> {
  for (const entry of await readdir(join(root, inside), { withFileTypes: true })) {
    const path = inside === "" ? entry.name : `${inside}/${entry.name}`;
    if (skipped.includes(path)) continue;
    if (entry.isDirectory()) yield* walkFiles(root, skipped, path);
    else if (entry.isFile()) yield { path, bytes: (await lstat(join(root, path))).size };
    else throw badFile(root, path, "is neither a file nor a directory: an artifact holds only those");
  }
}

/**
 * Makes a directory and those around it. Node's own recursive mkdir never ends where the system answers "no such directory" beside an
 * existing one, as in /proc, and says little about a file in the way.
 */
export async function makeDirectory(directory: string, parentWasMade = false): Promise<void> {
  try {
    await mkdir(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && !(await stat(directory)).isDirectory()) {
      throw new MarinError("FINESTORE_NOT_A_DIRECTORY", `Cannot make the store ${directory}: a file of that name is there; choose another directory.`, { data: { directory } });
    }
    if (code === "EEXIST") return;
    const parent = dirname(directory);
    if (code !== "ENOENT" || parent === directory || parentWasMade) throw error;
    // Where the parent is there after all, another process has just made it.
    if (!(await exists(parent))) await makeDirectory(parent);
    await makeDirectory(directory, true);
  }
}

/** Whether there is anything at the path; what cannot be looked at is an error, not an absence. */
export async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw fileError(error, { action: "read", path });
  }
}
