/** dupekit's side of `pnpm bench dedup`. */
import { blake3, BloomFilter, MinHash, presets, presetSignature, shingleSequence, xxh3_128, xxh3_64 } from "@marin/dupekit";
import { dedupArguments, measureDedup } from "./dedup-protocol.js";

const { work, rounds, documents } = dedupArguments();
const million = 1_000_000;

/** Signatures of 5-word shingles. */
function signatures<Bits extends 32 | 64>(bits: Bits): () => void {
  const minHash = new MinHash<Bits>({ permutations: 128, bits });
  return () => {
    for (const text of documents) minHash.signature(shingleSequence<Bits>(text, { size: 5, bits }));
  };
}

/** Different keys of 25 characters. */
const keys = (prefix: string): string[] => Array.from({ length: million }, (_, index) => `${prefix} number ${String(index).padStart(10, "0")} ab`);

function hashesOf(prefix: string): BigUint64Array {
  return BigUint64Array.from(keys(prefix), (key) => xxh3_64(key));
}

const filterOptions = { items: million, falsePositiveRate: 0.001 };

function filled(): BloomFilter {
  const filter = BloomFilter.create(filterOptions);
  filter.addHashes(hashesOf("in"));
  return filter;
}

const WORKS: Readonly<Record<string, () => () => unknown>> = {
  "minhash-32": () => signatures(32),
  "minhash-64": () => signatures(64),
  "minhash-marin": () => () => {
    for (const text of documents) presetSignature(text, presets.marin);
  },
  "bloom-add": () => {
    const own = keys("in");
    return () => {
      const filter = BloomFilter.create(filterOptions);
      for (const key of own) filter.add(key);
    };
  },
  "bloom-has": () => {
    const [filter, own] = [filled(), keys("out")];
    return () => own.reduce((found, key) => found + Number(filter.has(key)), 0);
  },
  "bloom-add-all": () => {
    const own = keys("in");
    return () => BloomFilter.create(filterOptions).addAll(own);
  },
  "bloom-has-all": () => {
    const [filter, own] = [filled(), keys("out")];
    return () => filter.hasAll(own);
  },
  "bloom-add-hashes": () => {
    const own = hashesOf("in");
    return () => BloomFilter.create(filterOptions).addHashes(own);
  },
  "bloom-has-hashes": () => {
    const [filter, own] = [filled(), hashesOf("out")];
    return () => filter.hasHashes(own);
  },
  "hash-documents-xxh3-64": () => () => {
    for (const text of documents) xxh3_64(text);
  },
  "hash-documents-xxh3-128": () => () => {
    for (const text of documents) xxh3_128(text);
  },
  "hash-documents-blake3": () => () => {
    for (const text of documents) blake3(text);
  },
};

const prepare = WORKS[work];
if (prepare === undefined) throw new Error(`no work ${work}`);
measureDedup(`dupekit, ${work}`, rounds, prepare());
