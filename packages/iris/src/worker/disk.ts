import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** Bytes of the files in a directory and those below it. What vanishes meanwhile counts nothing. */
export async function directoryBytes(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) bytes += await directoryBytes(path);
    else if (entry.isFile()) bytes += (await stat(path).catch(() => ({ size: 0 }))).size;
  }
  return bytes;
}
