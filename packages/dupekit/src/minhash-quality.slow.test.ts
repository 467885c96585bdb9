import { describe, expect, test } from "vitest";
import { Lsh } from "./lsh.js";
import { estimateJaccard, MinHash } from "./minhash.js";
import { presets } from "./presets.js";
import { shingleSequence } from "./shingle.js";

/** Two sets of well-mixed hashes with about this Jaccard similarity, other ones for each trial, and what it is exactly. */
function pair(similarity: number, bits: 32 | 64, trial: number): { readonly a: Uint32Array | BigUint64Array; readonly b: Uint32Array | BigUint64Array; readonly exact: number } {
  const size = 150;
  const shared = Math.round((2 * size * similarity) / (1 + similarity));
  const set = (from: number): Uint32Array | BigUint64Array => {
    const elements = Uint32Array.from({ length: size }, (_, index) => trial * 4000 + (index < shared ? index : from + index));
    return shingleSequence<32 | 64>(elements, { size: 1, bits });
  };
  return { a: set(1000), b: set(2000), exact: shared / (2 * size - shared) };
}

describe("MinHash quality", () => {
  const cases = ([32, 64] as const).flatMap((bits) => [0.3, 0.5, 0.8].map((similarity) => ({ bits, similarity })));
  test.each(cases)("MinHash quality: the estimate is unbiased within three standard errors at J = $similarity in $bits bits", ({ bits, similarity }) => {
    const [trials, permutations] = [4000, 128];
    let sum = 0;
    let squares = 0;
    let expected = 0;
    for (let trial = 0; trial < trials; trial += 1) {
      const minHash = new MinHash<32 | 64>({ permutations, seed: trial, bits });
      const { a, b, exact } = pair(similarity, bits, trial);
      const error = estimateJaccard(minHash.signature(a), minHash.signature(b)) - exact;
      expected = exact;
      sum += error;
      squares += error * error;
    }
    const deviation = Math.sqrt((expected * (1 - expected)) / permutations);
    expect(Math.abs(sum / trials)).toBeLessThan((3 * deviation) / Math.sqrt(trials));
    expect(Math.sqrt(squares / trials) / deviation).toBeGreaterThan(0.93);
    expect(Math.sqrt(squares / trials) / deviation).toBeLessThan(1.07);
  });

  const curves = Object.values(presets).flatMap((preset) => [0.5, 0.7, 0.8, 0.9].map((similarity) => ({ preset, similarity, name: preset.name })));
  test.each(curves)("MinHash quality: $name finds pairs of J = $similarity as often as its S-curve says, within 0.03", ({ preset, similarity }) => {
    const trials = 4000;
    const lsh = new Lsh(preset);
    let found = 0;
    let exact = 0;
    for (let trial = 0; trial < trials; trial += 1) {
      const minHash = new MinHash<32 | 64>({ permutations: lsh.permutations, seed: trial, bits: preset.bits });
      const sets = pair(similarity, preset.bits, trial);
      exact = sets.exact;
      found += lsh.candidates([minHash.signature(sets.a), minHash.signature(sets.b)]).length;
    }
    expect(Math.abs(found / trials - lsh.probability(exact))).toBeLessThan(0.03);
  });
});
