import { open, rename } from "node:fs/promises";

/** Writes a whole file under a temporary name, flushes it, and renames it into place. */
export async function writeFileAtomic(path: string, text: string): Promise<void> {
  const file = await open(`${path}.tmp`, "w");
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.tmp`, path);
}
