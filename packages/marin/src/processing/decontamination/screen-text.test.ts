import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RandomProse } from "../../../test/random-prose.js";
import { openEvaluationIndex, writeEvaluationIndex } from "./evaluation-index.js";
import { type DecontaminationRule, type NgramIndex, screenText } from "./screen-text.js";
import { passageNgrams } from "./text-ngrams.js";

const rule: DecontaminationRule = { ngramWords: 4, leastWords: 2, minOverlap: 0.5, minCoverage: 0.5 };
const random = new RandomProse(1);
/** So few words that runs of four are often alike; numbers among them. */
const vocabulary = ["oak", "elm", "7", "fir", "42"];
const words = (count: number): string[] => Array.from({ length: count }, () => vocabulary[random.below(vocabulary.length)] ?? "");
const items = new Map(Array.from({ length: 12 }, (_, item) => [`item ${String(item)}`, words(1 + random.below(8))] as const));

let folder: string;
let index: NgramIndex;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "marin-screen-"));
  await writeEvaluationIndex(folder, new Map([...items].map(([name, passage]) => [name, passageNgrams(passage.join(" "), rule)])));
  index = await openEvaluationIndex(folder);
});
afterAll(() => rm(folder, { recursive: true }));

/** N-grams as texts: what the hashes stand for. */
function runs(of: readonly string[]): string[] {
  return Array.from({ length: Math.max(0, of.length - rule.ngramWords + 1) }, (_, start) => of.slice(start, start + rule.ngramWords).join(" ")).filter((run) => /[a-z]/.test(run));
}
function ngrams(paragraph: readonly string[]): string[] {
  const isShort = paragraph.length < rule.ngramWords && paragraph.length >= rule.leastWords;
  return isShort ? [paragraph.join(" ")].filter((run) => /[a-z]/.test(run)) : runs(paragraph);
}

test("overlap, coverage and attribution are those of the n-grams compared word by word", async () => {
  const held = new Map([...items].map(([name, passage]) => [name, new Set(ngrams(passage))]));
  const all = new Set([...held.values()].flatMap((set) => [...set]));
  let found = 0;
  for (let round = 0; round < 600; round += 1) {
    const paragraphs = Array.from({ length: 1 + random.below(4) }, () => words(1 + random.below(9)));
    const text = paragraphs.map((paragraph) => paragraph.join(random.below(2) === 0 ? " " : ",\n").toUpperCase()).join(random.below(2) === 0 ? "\n\n" : "\n \t\n\n");
    const inText = new Set([...runs(paragraphs.flat()), ...paragraphs.flatMap(ngrams)].filter((run) => all.has(run)));
    const overlaps = paragraphs.map(ngrams).map((own) => (own.length === 0 ? 0 : own.filter((run) => all.has(run)).length / own.length));
    const coverages = [...held].map(([id, set]) => ({ id, coverage: [...set].filter((run) => inText.has(run)).length / Math.max(1, set.size) })).filter(({ coverage }) => coverage > 0);
    const finding = await screenText(text, index, rule);
    if (inText.size === 0) {
      expect(finding).toBeUndefined();
      continue;
    }
    found += 1;
    expect(finding?.ngrams).toHaveLength(inText.size);
    expect(finding?.overlap).toBeCloseTo(Math.max(...overlaps), 12);
    expect([...(finding?.evaluations ?? [])].sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(coverages.sort((a, b) => (a.id < b.id ? -1 : 1)));
    expect(finding?.contaminated).toBe(Math.max(...overlaps) >= 0.5 || Math.max(...coverages.map(({ coverage }) => coverage)) >= 0.5);
  }
  expect(found).toBeGreaterThan(50);
});
