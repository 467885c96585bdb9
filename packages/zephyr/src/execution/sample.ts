/**
 * Whether an item belongs to a sample: as if a fair die with 2^32 sides had been thrown for its place. Depends on the seed, the shard and the
 * place alone.
 */
export function isSampled({ fraction, seed }: { readonly fraction: number; readonly seed: number }, shard: number, index: number): boolean {
  let hash = mix(seed ^ 0x9e3779b9);
  for (const word of [high(seed), shard, index, high(index)]) hash = mix(Math.imul(hash, 0x85ebca6b) ^ word);
  return (hash >>> 0) / 2 ** 32 < fraction;
}

function high(value: number): number {
  return Math.floor(value / 2 ** 32);
}

/** MurmurHash3's finalizer of 32 bits (Austin Appleby, public domain). */
function mix(value: number): number {
  let hash = value ^ (value >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
