/**
 * MurmurHash3, its 32-bit x86 form by Austin Appleby (public domain): fast, well mixed, not for security.
 *
 * @param bytes - what to hash
 * @param seed - an unsigned 32-bit number; another seed gives another, independent hash. Default 0
 * @returns an unsigned 32-bit number
 */
export function murmur3(bytes: Uint8Array, seed = 0): number {
  const blocks = bytes.length >>> 2;
  let hash = seed | 0;
  for (let block = 0; block < blocks; block += 1) hash = mixBlock(hash, littleEndian(bytes, block * 4, 4));
  const rest = bytes.length & 3;
  if (rest > 0) hash ^= scramble(littleEndian(bytes, blocks * 4, rest));
  return finish(hash ^ bytes.length);
}

/**
 * {@link murmur3} of 32-bit numbers, each as four little-endian bytes, without making the bytes.
 *
 * @param words - the numbers
 * @param start - index of the first one hashed
 * @param end - index after the last one hashed
 * @param seed - as for {@link murmur3}
 */
export function murmur3Words(words: Uint32Array, start: number, end: number, seed: number): number {
  let hash = seed | 0;
  for (let index = start; index < end; index += 1) hash = mixBlock(hash, words[index] ?? 0);
  return finish(hash ^ ((end - start) * 4));
}

function littleEndian(bytes: Uint8Array, at: number, length: number): number {
  let word = 0;
  for (let index = length - 1; index >= 0; index -= 1) word = (word << 8) | (bytes[at + index] ?? 0);
  return word;
}

function scramble(word: number): number {
  const product = Math.imul(word, 0xcc9e2d51);
  return Math.imul((product << 15) | (product >>> 17), 0x1b873593);
}

function mixBlock(hash: number, word: number): number {
  const mixed = hash ^ scramble(word);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

function finish(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
