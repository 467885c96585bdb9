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

// The same of four numbers at a time.

// @ts-ignore: decorator
@inline function rotate(words: v128, left: i32): v128 {
  return v128.or(i32x4.shl(words, left), i32x4.shr_u(words, 32 - left));
}

// @ts-ignore: decorator
@inline export function scramble4(words: v128): v128 {
  return i32x4.mul(rotate(i32x4.mul(words, i32x4.splat(0xcc9e2d51)), 15), i32x4.splat(0x1b873593));
}

// @ts-ignore: decorator
@inline export function mixBlock4(hashes: v128, scrambled: v128): v128 {
  const mixed = rotate(v128.xor(hashes, scrambled), 13);
  return i32x4.add(i32x4.add(mixed, i32x4.shl(mixed, 2)), i32x4.splat(0xe6546b64));
}

// @ts-ignore: decorator
@inline export function finish4(values: v128): v128 {
  let hashes = v128.xor(values, i32x4.shr_u(values, 16));
  hashes = i32x4.mul(hashes, i32x4.splat(0x85ebca6b));
  hashes = i32x4.mul(v128.xor(hashes, i32x4.shr_u(hashes, 13)), i32x4.splat(0xc2b2ae35));
  return v128.xor(hashes, i32x4.shr_u(hashes, 16));
}
