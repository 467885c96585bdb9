import { RandomKey } from "./random-key.js";

/**
 * What randomness of a seed is used for: initial weights, the order of the data, dropout masks, sampling. Each has a key of its own, so that none depends on
 * how much another draws.
 */
export type RandomStream = "model" | "data" | "dropout" | "sample";

/** The key of one use of a seed (an integer from 0 to 2^53 - 1; throws `RangeError` for anything else). */
export function streamKey(seed: number, stream: RandomStream): RandomKey {
  return RandomKey.fromSeed(seed).fold(stream);
}
