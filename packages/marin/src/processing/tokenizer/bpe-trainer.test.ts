import fc from "fast-check";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { BpeTrainer } from "./bpe-trainer.js";
import { alphabetCharacters, idOfByte } from "./byte-alphabet.js";
import { wordPattern } from "./tokenizer-file.js";

/** The merges that Hugging Face's `tokenizers` 0.23.2 learns from the text (its `Tokenizer.train`). */
const reference = JSON.parse(readFileSync(new URL("../../../test/fixtures/bpe-merges.json", import.meta.url), "utf8")) as { text: string; merges: [string, string][] };

function countsOf(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

test("the merges are those of Hugging Face's trainer, ties included", () => {
  const trainer = new BpeTrainer(countsOf(reference.text.match(wordPattern) ?? []));
  while (trainer.result().merges.length < reference.merges.length) expect(trainer.step()).toBe(true);
  expect(trainer.result().merges).toEqual(reference.merges);
});

/** The definition, straight: count all pairs anew, join the best everywhere. */
function slowMerges(words: ReadonlyMap<string, number>, steps: number): [string, string][] {
  const tokens = [...alphabetCharacters];
  let sequences = [...words].map(([word, count]) => ({ ids: Array.from(Buffer.from(word), (byte) => idOfByte[byte] as number), count }));
  const merges: [string, string][] = [];
  for (let step = 0; step < steps; step += 1) {
    const pairs = new Map<string, { left: number; right: number; count: number }>();
    for (const { ids, count } of sequences) {
      for (let i = 1; i < ids.length; i += 1) {
        const [left, right] = [ids[i - 1] as number, ids[i] as number];
        const key = `${String(left)} ${String(right)}`;
        pairs.set(key, { left, right, count: (pairs.get(key)?.count ?? 0) + count });
      }
    }
    const best = [...pairs.values()].sort((a, b) => b.count - a.count || a.left - b.left || a.right - b.right)[0];
    if (best === undefined) break;
    const pair: [string, string] = [tokens[best.left] as string, tokens[best.right] as string];
    merges.push(pair);
    const known = tokens.indexOf(pair.join(""));
    const merged = known < 0 ? tokens.push(pair.join("")) - 1 : known;
    sequences = sequences.map(({ ids, count }) => {
      const joined: number[] = [];
      for (let i = 0; i < ids.length; i += 1) {
        const match = ids[i] === best.left && ids[i + 1] === best.right;
        joined.push(match ? merged : (ids[i] as number));
        if (match) i += 1;
      }
      return { ids: joined, count };
    });
  }
  return merges;
}

test("the merges follow the definition on any words, repeated letters and equal counts included", () => {
  const words = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "c", "é"), minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(words, (list) => {
      const counts = countsOf(list);
      const trainer = new BpeTrainer(counts);
      let steps = 0;
      while (steps < 20 && trainer.step()) steps += 1;
      expect(trainer.result().merges).toEqual(slowMerges(counts, 20));
    }),
  );
});

test("when every word is one token, there is nothing left to learn", () => {
  const trainer = new BpeTrainer([["ab", 3]]);
  expect(trainer.step()).toBe(true);
  expect(trainer.result()).toMatchObject({ merges: [["a", "b"]] });
  expect(trainer.step()).toBe(false);
  expect(trainer.size).toBe(257);
});
