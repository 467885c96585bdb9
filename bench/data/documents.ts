import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type BenchDocument, isKept } from "../peers/data-protocol.js";
import { resultOf } from "./sides.js";

/** Documents as JSON Lines in a file. */
export interface DocumentFile {
  readonly path: string;
  /** Size of the lines, unpacked. */
  readonly bytes: number;
  /** What is kept of them, in words. */
  readonly expected: string;
}

/**
 * Writes documents of about 2 kB, `{ id, url, language, score, text }`, whose words are as frequent as those of a natural language; every
 * 50th has letters beyond ASCII. The same each time.
 *
 * @param name - packed with gzip when it ends in .gz
 */
export async function writeDocuments(directory: string, name: string, bytes: number): Promise<DocumentFile> {
  const path = join(directory, name);
  let [documents, written, kept, characters] = [0, 0, 0, 0];
  const random = randomNumbers(5);
  const words = Array.from({ length: 20_000 }, () => wordOf(random));
  const chunks = async function* (): AsyncGenerator<Buffer> {
    while (written < bytes) {
      let text = "";
      while (text.length < 1 << 18) {
        const document = documentOf(documents, words, random);
        if (isKept(document)) {
          kept += 1;
          characters += document.text.length;
        }
        text += `${JSON.stringify(document)}\n`;
        documents += 1;
      }
      const chunk = Buffer.from(text);
      written += chunk.length;
      yield chunk;
    }
  };
  if (name.endsWith(".gz")) await pipeline(chunks(), createGzip({ level: 6 }), createWriteStream(path));
  else await pipeline(chunks(), createWriteStream(path));
  return { path, bytes: written, expected: resultOf({ kept, characters }) };
}

function documentOf(id: number, words: readonly string[], random: () => number): BenchDocument {
  const length = 100 + Math.floor(random() * 500);
  const chosen = Array.from({ length }, () => words[Math.floor(words.length ** random()) - 1] ?? "");
  if (id % 50 === 0) chosen[0] = "grün";
  return { id, url: `https://example.org/${String(id)}`, language: id % 7 === 0 ? "de" : "en", score: Math.round(random() * 1000) / 1000, text: chosen.join(" ") };
}

function wordOf(random: () => number): string {
  return Array.from({ length: 2 + Math.floor(random() * 9) }, () => String.fromCharCode(97 + Math.floor(26 * random() ** 1.5))).join("");
}

function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
