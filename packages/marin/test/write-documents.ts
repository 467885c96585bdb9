import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeParquet } from "@marin/zephyr";
import { documentId } from "../src/processing/corpus/document.js";

/** Writes texts as a folder of documents, in one shard. */
export async function writeDocuments(folder: string, texts: readonly string[]): Promise<string> {
  await mkdir(folder, { recursive: true });
  const rows = texts.map((text, index) => ({ id: documentId(text), text, source: `s${String(index)}` }));
  await writeParquet(join(folder, "part-00000-of-00001.parquet"), rows, { schema: { id: "string", text: "string", source: "string" } });
  return folder;
}
