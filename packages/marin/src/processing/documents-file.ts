import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { writeFileAtomic } from "@marin/rigging";
import type { Document } from "./corpus/document.js";

export async function* readDocuments(path: string, signal?: AbortSignal): AsyncGenerator<Document> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    signal?.throwIfAborted();
    yield JSON.parse(line) as Document;
  }
}

export async function writeDocuments(path: string, documents: AsyncIterable<Document>): Promise<void> {
  await writeFileAtomic(path, lines(documents));
}

async function* lines(documents: AsyncIterable<Document>): AsyncGenerator<Uint8Array> {
  for await (const { id, text, source } of documents) yield Buffer.from(`${JSON.stringify({ id, text, source })}\n`);
}
