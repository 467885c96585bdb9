import { type BenchDocument, isKept } from "../peers/data-protocol.js";

/** What is known of the documents of a shard. */
export interface Tally {
  readonly kept: number;
  readonly characters: number;
  /** Different words of each document, added up. */
  readonly words: number;
}

/** Whether a document is kept. */
export function keep(document: BenchDocument): boolean {
  return isKept(document);
}

/** What a document counts for: its text is taken apart, as most work on documents does. */
export function tallyOf({ text }: BenchDocument): Tally {
  return { kept: 1, characters: text.length, words: new Set(text.toLowerCase().split(/\s+/)).size };
}

/** Tallies added up. */
export async function addUp(tallies: AsyncIterable<Tally>): Promise<Tally> {
  let [kept, characters, words] = [0, 0, 0];
  for await (const tally of tallies) {
    kept += tally.kept;
    characters += tally.characters;
    words += tally.words;
  }
  return { kept, characters, words };
}
