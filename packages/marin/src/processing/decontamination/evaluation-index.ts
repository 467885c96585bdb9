import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BloomFilter } from "@marin/dupekit";
import { sha256File, writeFileAtomic } from "@marin/rigging";
import { ParquetReader, writeParquet } from "@marin/zephyr";
import type { NgramIndex, NgramOwners } from "./screen-text.js";

/** N-grams that the filter is sized for at least, and its rate of false alarms: 43.1 million bits, 30 of them for each n-gram. */
const leastItems = 1_000_000;
const falsePositiveRate = 1e-9;

const evaluationFilterFile = "filter.bloom";
const ngramsFile = "ngrams.parquet";

interface Row {
  readonly hash: bigint;
  readonly evaluation: string;
}

/**
 * Writes what screening needs of the evaluations: `filter.bloom`, and `ngrams.parquet` of `hash` and `evaluation`, ascending by both.
 *
 * @param directory - where they are written
 * @param items - the different n-grams of each item, by its name
 * @returns its place, and the number of different n-grams of all items
 */
export async function writeEvaluationIndex(directory: string, items: ReadonlyMap<string, ReadonlySet<bigint>>): Promise<IndexPlace & { readonly ngrams: number }> {
  const names = [...items.keys()].sort();
  const rows = names.flatMap((name) => Array.from(items.get(name) ?? [], (hash) => ({ hash, evaluation: name })));
  rows.sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : a.evaluation < b.evaluation ? -1 : 1));
  const hashes = BigUint64Array.from(new Set(rows.map(({ hash }) => hash)));
  const filter = BloomFilter.create({ items: Math.max(leastItems, hashes.length), falsePositiveRate });
  filter.addHashes(hashes);
  await writeFileAtomic(join(directory, evaluationFilterFile), filter.save());
  await writeParquet(join(directory, ngramsFile), rows, { schema: { hash: "uint64", evaluation: "string" } });
  return { index: directory, indexDigest: await sha256File(join(directory, evaluationFilterFile)), ngrams: hashes.length };
}

/** Where an index lies. */
export interface IndexPlace {
  /** Folder of what {@link writeEvaluationIndex} wrote. */
  readonly index: string;
  /** SHA-256 of its filter. */
  readonly indexDigest: string;
}

let opened: { readonly key: string; readonly index: Promise<NgramIndex> } | undefined;

/** The index: a worker looks at many shards with one. */
export async function openIndex({ index, indexDigest }: IndexPlace): Promise<NgramIndex> {
  const key = `${indexDigest} ${index}`;
  if (opened?.key !== key) opened = { key, index: openEvaluationIndex(index) };
  return opened.index;
}

/** What {@link writeEvaluationIndex} wrote. The owners of n-grams are read when they are first asked for: a clean corpus never needs them. */
export async function openEvaluationIndex(directory: string): Promise<NgramIndex> {
  const filter = BloomFilter.load(await readFile(join(directory, evaluationFilterFile)));
  let owners: Promise<NgramOwners> | undefined;
  return { filter, owners: () => (owners ??= readOwners(join(directory, ngramsFile))) };
}

async function readOwners(path: string): Promise<NgramOwners> {
  const numbers = new Map<string, number>();
  const totals: number[] = [];
  const [hashes, items]: [bigint[], number[]] = [[], []];
  for await (const { hash, evaluation } of new ParquetReader<Row>({ path })) {
    let item = numbers.get(evaluation);
    if (item === undefined) {
      item = numbers.size;
      numbers.set(evaluation, item);
      totals.push(0);
    }
    totals[item] = (totals[item] ?? 0) + 1;
    hashes.push(hash);
    items.push(item);
  }
  const sorted = BigUint64Array.from(hashes);
  const owner = Uint32Array.from(items);
  const names = [...numbers.keys()];
  return {
    of(hash) {
      const from = lowerBound(sorted, hash);
      let to = from;
      while (sorted[to] === hash) to += 1;
      return [...owner.subarray(from, to)];
    },
    total: (item) => totals[item] ?? 0,
    name: (item) => names[item] ?? "",
  };
}

/** Index of the first value, of ascending ones, that is not below the bound. */
function lowerBound(values: BigUint64Array, bound: bigint): number {
  let [from, to] = [0, values.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((values[middle] ?? 0n) < bound) from = middle + 1;
    else to = middle;
  }
  return from;
}
