import type { RandomKey } from "./random-key.js";
import { threefry2x32 } from "./threefry.js";

// Small domains need many rounds: with one-bit halves a round moves little.
const ROUNDS = 12;

/**
 * Where position `index` of 0..n-1 goes under the random permutation that `key` names, in constant memory: a balanced Feistel network whose round
 * function is threefry, over the smallest power of 4 that holds `n`, walked until it lands below `n` (at most 4 walks on average).
 * `n` from 1 to 2^52; throws `RangeError` for an `index` or `n` outside.
 */
export function permute(key: RandomKey, n: number, index: number): number {
  if (!Number.isSafeInteger(n) || n < 1 || n > 2 ** 52) throw new RangeError(`n must be an integer from 1 to 2^52, got ${String(n)}`);
  if (!Number.isSafeInteger(index) || index < 0 || index >= n) {
    throw new RangeError(`index must be an integer from 0 to ${String(n - 1)}, got ${String(index)}`);
  }
  let halfBits = 1;
  while (4 ** halfBits < n) halfBits++;
  const half = 2 ** halfBits;
  const mask = half - 1;
  const words = new Uint32Array(2);
  let value = index;
  do {
    let left = Math.floor(value / half);
    let right = value % half;
    for (let round = 0; round < ROUNDS; round++) {
      threefry2x32(key.high, key.low, round, right, words);
      const mixed = (left ^ (words[0] ?? 0)) & mask;
      left = right;
      right = mixed;
    }
    value = left * half + right;
  } while (value >= n);
  return value;
}
