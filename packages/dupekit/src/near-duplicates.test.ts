import { expect, test } from "vitest";
import { Texts } from "../test/texts.js";
import type { Duplicates } from "./duplicates.js";
import { type DuplicateOptions, findDuplicates } from "./near-duplicates.js";
import { sketchText } from "./sketch.js";

interface Sample {
  readonly id: string;
  readonly text: string;
}

function find(samples: readonly Sample[], options?: DuplicateOptions): Duplicates & { readonly kept: readonly string[]; readonly pairs: readonly (readonly [string, string])[] } {
  const result = findDuplicates(samples.map(({ id, text }) => ({ id, sketch: sketchText(text) })), options);
  const gone = new Set(result.removed.map(({ index }) => index));
  const idOf = (index: number): string => samples[index]?.id ?? "";
  return { ...result, kept: samples.map(({ id }) => id).filter((_, index) => !gone.has(index)), pairs: result.removed.map(({ index, duplicateOf }) => [idOf(index), idOf(duplicateOf)] as const) };
}

/** Distinct texts, some of them with copies of each strength: "7" is the text, "7/2" its copy by the second kind of edit. */
function corpus(seed: number, words: number, originals: number, documents: number): Sample[] {
  const texts = new Texts(seed);
  const samples = Array.from({ length: documents }, (_, index) => ({ id: String(index), text: texts.prose(words) }));
  const copies = samples.slice(0, originals).flatMap(({ id, text }) => Object.values(texts.edits).map((edit, index) => ({ id: `${id}/${String(index)}`, text: edit(text) })));
  return [...samples, ...copies];
}

const groupOf = (id: string): string => id.split("/")[0] ?? "";

test.each([120, 400, 2000])("copies by five strengths of edit are found, and nothing else, in texts of %d words", (words) => {
  const samples = corpus(1, words, 40, 200);
  const { kept, pairs } = find(samples);
  for (const [removed, by] of pairs) expect(groupOf(removed)).toBe(groupOf(by));
  expect(kept.map(groupOf).sort()).toEqual(Array.from({ length: 200 }, (_, index) => String(index)).sort());
});

test.each(Object.keys(new Texts(1).edits))("one copy by an edit of %s is found", (name) => {
  const texts = new Texts(2);
  const samples = Array.from({ length: 200 }, (_, index) => ({ id: String(index), text: texts.prose(150) }));
  const copies = samples.slice(0, 100).map(({ id, text }) => ({ id: `${id}/copy`, text: texts.edits[name]?.(text) ?? "" }));
  expect(new Set(find([...samples, ...copies]).kept.map(groupOf)).size).toBe(200);
  // The heaviest edit leaves a few short texts less alike than the threshold.
  expect(find([...samples, ...copies]).kept.length).toBeLessThanOrEqual(name.startsWith("10") ? 205 : 200);
});

test("the result does not depend on the order, and each removed document has a kept one that was compared with it", () => {
  const samples = corpus(3, 200, 30, 80);
  const expected = find(samples).pairs.toSorted();
  const texts = new Texts(4);
  for (let round = 0; round < 5; round += 1) {
    const shuffled = samples.map((sample) => ({ sample, key: texts.random() })).sort((a, b) => a.key - b.key).map(({ sample }) => sample);
    const { pairs, kept, removed } = find(shuffled);
    expect(pairs.toSorted()).toEqual(expected);
    for (const [, by] of pairs) expect(kept).toContain(by);
    for (const { similarity } of removed) expect(similarity).toBeGreaterThanOrEqual(0.35);
  }
});

test("similarity is not passed on: the ends of a chain of small changes are not taken for one another", () => {
  const texts = new Texts(5);
  const words = texts.prose(300).split(" ");
  // Each step replaces the next thirtieth of the text; after all of them nothing is left of the first.
  const chain = Array.from({ length: 31 }, (_, step) => ({ id: String(step).padStart(2, "0"), text: words.map((word, index) => (index < step * 10 ? `new${String(index)}` : word)).join(" ") }));
  const { kept, pairs } = find(chain);
  expect(kept.length).toBeGreaterThan(1);
  for (const [removed, by] of pairs) expect(Math.abs(Number(removed) - Number(by))).toBeLessThanOrEqual(15);
});

test("which one stays: the one with the most near duplicates, then the longest, then the smallest id", () => {
  const texts = new Texts(6);
  const text = texts.prose(200);
  const longer = `${text} ${texts.prose(9)}`;
  expect(find([{ id: "a", text }, { id: "b", text: longer }]).kept).toEqual(["b"]);
  expect(find([{ id: "b", text }, { id: "a", text: text.toUpperCase() }]).kept).toEqual(["a"]);
  const same = find([{ id: "b", text }, { id: "a", text }, { id: "c", text: longer }]);
  expect(same.kept).toEqual(["c"]);
  expect(same.removed.map(({ reason }) => reason)).toEqual(["near", "near"]);
  expect(find([{ id: "b", text }, { id: "a", text }]).removed).toEqual([{ index: 0, duplicateOf: 1, reason: "exact", similarity: 1 }]);
});

/** So many documents of which a share is the same text in all. */
function sharing(texts: Texts, count: number, words: number, share: number): Sample[] {
  const common = texts.prose(Math.round(words * share));
  return Array.from({ length: count }, (_, index) => ({ id: String(index), text: `${common} ${texts.prose(Math.round(words * (1 - share)))}` }));
}

test.each([0.7, 0.8, 0.9, 0.95])("distinct documents of which %d is the same boilerplate all stay; their copies are found", (share) => {
  for (const [count, words] of [[12, 400], [300, 150], [120, 800]] as const) {
    const texts = new Texts(7);
    const samples = sharing(texts, count, words, share);
    expect(find(samples).removed).toEqual([]);
    const copies = samples.slice(0, count / 3).map(({ id, text }) => ({ id: `${id}/copy`, text: texts.edits["one word"]?.(text) ?? "" }));
    const { kept, pairs } = find([...samples, ...copies]);
    expect(new Set(kept.map(groupOf)).size).toBe(count);
    expect(pairs.filter(([removed, by]) => groupOf(removed) === groupOf(by)).length).toBeGreaterThanOrEqual(0.95 * copies.length);
  }
});

test("boilerplate before, after and around what is distinct makes no difference", () => {
  const texts = new Texts(8);
  const [header, footer] = [texts.prose(300), texts.prose(200)];
  const samples = Array.from({ length: 60 }, (_, index) => ({ id: String(index), text: [texts.prose(20), `${header} ${texts.prose(30)} ${footer}`, texts.prose(30)][index % 3] ?? "" }));
  samples.push(...Array.from({ length: 30 }, (_, index) => ({ id: `start ${String(index)}`, text: `${texts.prose(25)} ${header}` })));
  expect(find(samples).removed).toEqual([]);
});

test("filled-in forms stay, also where some values are frequent", () => {
  const texts = new Texts(9);
  const form = texts.prose(200).split(" ");
  const fill = (value: (place: number) => string): string => form.map((word, place) => (place % 13 === 5 ? value(place) : word)).join(" ");
  const unique = Array.from({ length: 200 }, (_, index) => ({ id: `unique ${String(index)}`, text: fill((place) => `value${String(place)}x${String(texts.below(1e6))}`) }));
  const few = Array.from({ length: 200 }, (_, index) => ({ id: `few ${String(index)}`, text: fill((place) => `value${String(place)}x${String(Math.floor(40 ** texts.random()))}`) }));
  expect(find(unique).removed).toEqual([]);
  expect(find(few).removed.length).toBeLessThanOrEqual(1);
});

test("many copies of one text are found, each edited in its own way", () => {
  const texts = new Texts(10);
  const text = texts.prose(400);
  for (const share of [0.01, 0.05]) {
    const copies = Array.from({ length: 150 }, (_, index) => ({ id: String(index), text: texts.replace(text, share) }));
    expect(find([{ id: "original", text }, ...copies]).kept.length).toBe(1);
  }
});

test("texts too short to tell apart facts from edits stay unless nearly equal; texts without words are equal only when their characters are", () => {
  const numbered = Array.from({ length: 6 }, (_, index) => ({ id: String(index), text: `The ship number ${String(index)} left the harbour in the morning with a good wind.` }));
  expect(find(numbered).removed).toEqual([]);
  expect(find([{ id: "a", text: "" }, { id: "b", text: "!!" }, { id: "c", text: "?" }]).removed).toEqual([]);
  expect(find([{ id: "a", text: "?" }, { id: "b", text: "?" }]).kept).toEqual(["a"]);
});

test("a least similarity of 1 leaves exact copies and those of the same words", () => {
  const samples = corpus(11, 150, 5, 10);
  expect(find(samples, { minSimilarity: 1 }).pairs.map(([removed, by]) => [removed, by].sort())).toEqual([0, 1, 2, 3, 4].map((index) => [String(index), `${String(index)}/0`]));
});

test("options out of range and two documents of one id are refused", () => {
  for (const options of [{ minSimilarity: 0 }, { minSimilarity: 1.1 }, { minSimilarity: NaN }, { commonAbove: 0 }, { commonAbove: 1.5 }, { seed: -1 }]) {
    expect(() => find([{ id: "a", text: "a" }], options)).toThrow(RangeError);
  }
  expect(() => find([{ id: "a", text: "a" }, { id: "a", text: "b" }])).toThrow(/"a" occurs twice/);
  expect(find([])).toMatchObject({ removed: [], clusters: 0, candidates: 0, verified: 0 });
});
