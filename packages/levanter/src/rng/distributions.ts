import { inverseNormal } from "./inverse-normal.js";
import type { RandomKey } from "./random-key.js";

const CHUNK = 4096;

/** Φ(-3), the mass of a standard normal below -3. */
const LOWER_TAIL = 0.0013498980316300946;

/** `n` float32 draws from [0, 1), each a multiple of 2^-24. */
export function uniform(key: RandomKey, n: number): Float32Array {
  return draw(key, n, (bits) => (bits >>> 8) * 2 ** -24);
}

/** `n` float32 draws from the standard normal distribution, by its inverse distribution function (so none exceeds 6.4 in size). */
export function normal(key: RandomKey, n: number): Float32Array {
  return draw(key, n, (bits) => inverseNormal((bits + 0.5) * 2 ** -32));
}

/**
 * `n` float32 draws from the standard normal distribution cut off at ±3, by its inverse distribution function. The draws are not rescaled: their
 * standard deviation is 0.9866.
 */
export function truncatedNormal(key: RandomKey, n: number): Float32Array {
  const span = (1 - 2 * LOWER_TAIL) * 2 ** -32;
  return draw(key, n, (bits) => inverseNormal(LOWER_TAIL + (bits + 0.5) * span));
}

/** One integer from 0 to `n - 1`, exactly uniform (53-bit draws, rejecting the incomplete last multiple of `n`); `n` from 1 to 2^53 - 1. */
export function integerBelow(key: RandomKey, n: number): number {
  if (!Number.isSafeInteger(n) || n < 1) throw new RangeError(`n must be an integer from 1 to 2^53 - 1, got ${String(n)}`);
  const range = 2 ** 53;
  const limit = range - (range % n);
  const words = new Uint32Array(2);
  for (let offset = 0; ; offset += 2) {
    key.fillBits(words, offset);
    const value = ((words[0] ?? 0) >>> 11) * 2 ** 32 + (words[1] ?? 0);
    if (value < limit) return value % n;
  }
}

function draw(key: RandomKey, n: number, fromBits: (bits: number) => number): Float32Array {
  const result = new Float32Array(n);
  const bits = new Uint32Array(Math.min(n, CHUNK));
  for (let start = 0; start < n; start += CHUNK) {
    key.fillBits(bits, start);
    const end = Math.min(start + CHUNK, n);
    for (let i = start; i < end; i++) result[i] = fromBits(bits[i - start] ?? 0);
  }
  return result;
}
