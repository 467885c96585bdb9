import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

const files = 8;
/** Of a thousand rows so many have one key. */
const hotPerMille = 300;

interface Row {
  readonly key: string;
  readonly value: number;
  readonly text: string;
}

function rowOf(value: number, rows: number): Row {
  // Keys come in no order that sorting would like.
  const hash = Math.imul(value, 0x9e3779b1) >>> 0;
  return { key: hash % 1000 < hotPerMille ? "hot" : `key-${String(hash % Math.ceil(rows / 10))}`, value, text: `${filler}${String(hash)}` };
}

const filler = "the quick brown fox jumps over the lazy dog, and the dog goes on sleeping in the sun; ".repeat(6).slice(0, 440);

/** Writes the rows as JSON Lines in several files. @returns their bytes */
export async function writeShuffleInput(directory: string, rows: number): Promise<number> {
  let bytes = 0;
  for (let file = 0; file < files; file++) {
    const lines = function* (): Generator<string> {
      let chunk = "";
      for (let value = file; value < rows; value += files) {
        chunk += `${JSON.stringify(rowOf(value, rows))}\n`;
        if (chunk.length < 1 << 16) continue;
        bytes += chunk.length;
        yield chunk;
        chunk = "";
      }
      bytes += chunk.length;
      yield chunk;
    };
    await pipeline(Readable.from(lines()), createWriteStream(join(directory, `rows-${String(file)}.jsonl`)));
  }
  return bytes;
}

/** What every side must find: groups, rows, the sum of all values, and the rows of the largest group. */
export function expectedShuffle(rows: number): { readonly groups: number; readonly rows: number; readonly sum: number; readonly hot: number } {
  const keys = new Set<string>();
  let hot = 0;
  for (let value = 0; value < rows; value++) {
    const { key } = rowOf(value, rows);
    keys.add(key);
    if (key === "hot") hot += 1;
  }
  return { groups: keys.size, rows, sum: (rows * (rows - 1)) / 2, hot };
}
