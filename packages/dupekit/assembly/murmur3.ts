// The parts of MurmurHash3's 32-bit x86 form (Austin Appleby, public domain).

// @ts-ignore: decorator
@inline export function scramble(word: u32): u32 {
  return rotl<u32>(word * 0xcc9e2d51, 15) * 0x1b873593;
}

// @ts-ignore: decorator
@inline export function mixBlock(hash: u32, scrambled: u32): u32 {
  return rotl<u32>(hash ^ scrambled, 13) * 5 + 0xe6546b64;
}

// @ts-ignore: decorator
@inline export function finish(value: u32): u32 {
  let hash = value ^ (value >> 16);
  hash *= 0x85ebca6b;
  hash ^= hash >> 13;
  hash *= 0xc2b2ae35;
  return hash ^ (hash >> 16);
}
