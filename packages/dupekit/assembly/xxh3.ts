// XXH3, 64 and 128 bits, as its specification (doc/xxhash_spec.md of the xxHash project, Yann Collet) states it.

const PRIME32_1: u64 = 0x9e3779b1;
const PRIME32_2: u64 = 0x85ebca77;
const PRIME32_3: u64 = 0xc2b2ae3d;
const PRIME64_1: u64 = 0x9e3779b185ebca87;
const PRIME64_2: u64 = 0xc2b2ae3d27d4eb4f;
const PRIME64_3: u64 = 0x165667b19e3779f9;
const PRIME64_4: u64 = 0x85ebca77c2b2ae63;
const PRIME64_5: u64 = 0x27d4eb2f165667c5;
const PRIME_MX1: u64 = 0x165667919e3779f9;
const PRIME_MX2: u64 = 0x9fb21c651e98df25;

/** Bytes of a block of long input, by the length of the secret. */
const BLOCK: usize = 1024;
const STRIPE: usize = 64;
const SECRET_LENGTH: usize = 192;

// prettier-ignore
const SECRET: usize = memory.data<u8>([
  0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
  0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
  0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
  0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
  0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb, 0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
  0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
], 16);
/** The secret that the seed of a long input makes. */
const SEEDED: usize = memory.data(192, 16);
const ACCUMULATORS: usize = memory.data(64, 16);

/** Where the 16 bytes of a result lie: the lower half first. */
export const result: usize = memory.data(16, 16);

// @ts-ignore: decorator
@inline function avalanche(value: u64): u64 {
  let x = value ^ (value >> 37);
  x *= PRIME_MX1;
  return x ^ (x >> 32);
}

// @ts-ignore: decorator
@inline function avalanche64(value: u64): u64 {
  let x = value ^ (value >> 33);
  x *= PRIME64_2;
  x ^= x >> 29;
  x *= PRIME64_3;
  return x ^ (x >> 32);
}

/** The upper 64 bits of a 128-bit product. */
// @ts-ignore: decorator
@inline function multiplyHigh(a: u64, b: u64): u64 {
  const aLow = a & 0xffffffff;
  const aHigh = a >> 32;
  const bLow = b & 0xffffffff;
  const bHigh = b >> 32;
  const low = aLow * bLow;
  const first = aHigh * bLow + (low >> 32);
  const second = aLow * bHigh + (first & 0xffffffff);
  return aHigh * bHigh + (first >> 32) + (second >> 32);
}

// @ts-ignore: decorator
@inline function fold(a: u64, b: u64): u64 {
  return (a * b) ^ multiplyHigh(a, b);
}

// @ts-ignore: decorator
@inline function mix(data: usize, secret: usize, seed: u64): u64 {
  return fold(load<u64>(data) ^ (load<u64>(secret) + seed), load<u64>(data, 8) ^ (load<u64>(secret, 8) - seed));
}

/** XXH3, 64 bits, of any bytes in memory. */
export function hash64(at: usize, length: usize, seed: u64): u64 {
  if (length > 240) {
    begin(seed);
    const blocks = (length - 1) / BLOCK;
    rounds(at, blocks, secretFor(seed));
    const end = at + length;
    return finish(at + blocks * BLOCK, length - blocks * BLOCK, end - STRIPE, length, secretFor(seed));
  }
  if (length > 16) return medium64(at, length, seed);
  if (length > 8) {
    const low = ((load<u64>(SECRET, 24) ^ load<u64>(SECRET, 32)) + seed) ^ load<u64>(at);
    const high = ((load<u64>(SECRET, 40) ^ load<u64>(SECRET, 48)) - seed) ^ load<u64>(at + length - 8);
    return avalanche((length as u64) + bswap<u64>(low) + high + fold(low, high));
  }
  if (length >= 4) {
    const modified = seed ^ ((bswap<u32>(seed as u32) as u64) << 32);
    const combined = (load<u32>(at + length - 4) as u64) | ((load<u32>(at) as u64) << 32);
    let value = ((load<u64>(SECRET, 8) ^ load<u64>(SECRET, 16)) - modified) ^ combined;
    value ^= rotl<u64>(value, 49) ^ rotl<u64>(value, 24);
    value *= PRIME_MX2;
    value ^= (value >> 35) + (length as u64);
    value *= PRIME_MX2;
    return value ^ (value >> 28);
  }
  if (length > 0) return avalanche64((((load<u32>(SECRET) ^ load<u32>(SECRET, 4)) as u64) + seed) ^ (combined3(at, length) as u64));
  return avalanche64(seed ^ load<u64>(SECRET, 56) ^ load<u64>(SECRET, 64));
}

// @ts-ignore: decorator
@inline function combined3(at: usize, length: usize): u32 {
  return (load<u8>(at + length - 1) as u32) | ((length as u32) << 8) | ((load<u8>(at) as u32) << 16) | ((load<u8>(at + (length >> 1)) as u32) << 24);
}

function medium64(at: usize, length: usize, seed: u64): u64 {
  let sum: u64 = (length as u64) * PRIME64_1;
  if (length <= 128) {
    for (let i: isize = ((length - 1) >> 5) as isize; i >= 0; i -= 1) {
      const offset = (i as usize) * 16;
      sum += mix(at + offset, SECRET + offset * 2, seed);
      sum += mix(at + length - offset - 16, SECRET + offset * 2 + 16, seed);
    }
    return avalanche(sum);
  }
  const chunks = length >> 4;
  for (let i: usize = 0; i < 8; i += 1) sum += mix(at + i * 16, SECRET + i * 16, seed);
  sum = avalanche(sum);
  for (let i: usize = 8; i < chunks; i += 1) sum += mix(at + i * 16, SECRET + (i - 8) * 16 + 3, seed);
  return avalanche(sum + mix(at + length - 16, SECRET + 119, seed));
}

/** XXH3, 64 bits, into `result`. */
export function xxh3Narrow(at: usize, length: usize, seed: u64): void {
  store<u64>(result, hash64(at, length, seed));
}

/** The same without a seed: callers from JavaScript need no bigint. */
export function xxh3Unseeded(at: usize, length: usize): void {
  store<u64>(result, hash64(at, length, 0));
}

// @ts-ignore: decorator
@inline function give(low: u64, high: u64): void {
  store<u64>(result, low);
  store<u64>(result, high, 8);
}

/** XXH3, 128 bits, into `result`. */
export function xxh3Wide(at: usize, length: usize, seed: u64): void {
  if (length > 240) {
    begin(seed);
    const blocks = (length - 1) / BLOCK;
    rounds(at, blocks, secretFor(seed));
    xxh3Finish(at + blocks * BLOCK, length - blocks * BLOCK, at + length - STRIPE, length, seed);
    return;
  }
  if (length > 16) {
    medium128(at, length, seed);
    return;
  }
  if (length > 8) {
    const first = load<u64>(at);
    const last = load<u64>(at + length - 8);
    const one = ((load<u64>(SECRET, 32) ^ load<u64>(SECRET, 40)) - seed) ^ first ^ last;
    const two = ((load<u64>(SECRET, 48) ^ load<u64>(SECRET, 56)) + seed) ^ last;
    let low = one * PRIME64_1 + (((length as u64) - 1) << 54);
    let high = multiplyHigh(one, PRIME64_1) + two + (two & 0xffffffff) * (PRIME32_2 - 1);
    low ^= bswap<u64>(high);
    high = multiplyHigh(low, PRIME64_2) + high * PRIME64_2;
    low *= PRIME64_2;
    give(avalanche(low), avalanche(high));
    return;
  }
  if (length >= 4) {
    const modified = seed ^ ((bswap<u32>(seed as u32) as u64) << 32);
    const combined = (load<u32>(at) as u64) | ((load<u32>(at + length - 4) as u64) << 32);
    const value = ((load<u64>(SECRET, 16) ^ load<u64>(SECRET, 24)) + modified) ^ combined;
    const factor = PRIME64_1 + ((length as u64) << 2);
    let low = value * factor;
    let high = multiplyHigh(value, factor) + (low << 1);
    low ^= high >> 3;
    low ^= low >> 35;
    low *= PRIME_MX2;
    low ^= low >> 28;
    give(low, avalanche(high));
    return;
  }
  if (length > 0) {
    const combined = combined3(at, length);
    const low = (((load<u32>(SECRET) ^ load<u32>(SECRET, 4)) as u64) + seed) ^ (combined as u64);
    const high = (((load<u32>(SECRET, 8) ^ load<u32>(SECRET, 12)) as u64) - seed) ^ (rotl<u32>(bswap<u32>(combined), 13) as u64);
    give(avalanche64(low), avalanche64(high));
    return;
  }
  give(avalanche64(seed ^ load<u64>(SECRET, 64) ^ load<u64>(SECRET, 72)), avalanche64(seed ^ load<u64>(SECRET, 80) ^ load<u64>(SECRET, 88)));
}

function medium128(at: usize, length: usize, seed: u64): void {
  let one: u64 = (length as u64) * PRIME64_1;
  let two: u64 = 0;
  if (length <= 128) {
    for (let i: isize = ((length - 1) >> 5) as isize; i >= 0; i -= 1) {
      const offset = (i as usize) * 16;
      const left = at + offset;
      const right = at + length - offset - 16;
      one = (one + mix(left, SECRET + offset * 2, seed)) ^ (load<u64>(right) + load<u64>(right, 8));
      two = (two + mix(right, SECRET + offset * 2 + 16, seed)) ^ (load<u64>(left) + load<u64>(left, 8));
    }
  } else {
    const chunks = length >> 5;
    for (let i: usize = 0; i < chunks; i += 1) {
      if (i === 4) {
        one = avalanche(one);
        two = avalanche(two);
      }
      const left = at + i * 32;
      const secret = i < 4 ? SECRET + i * 32 : SECRET + (i - 4) * 32 + 3;
      one = (one + mix(left, secret, seed)) ^ (load<u64>(left, 16) + load<u64>(left, 24));
      two = (two + mix(left + 16, secret + 16, seed)) ^ (load<u64>(left) + load<u64>(left, 8));
    }
    if (chunks === 4) {
      one = avalanche(one);
      two = avalanche(two);
    }
    const left = at + length - 16;
    const right = left - 16;
    one = (one + mix(left, SECRET + 103, 0 - seed)) ^ (load<u64>(right) + load<u64>(right, 8));
    two = (two + mix(right, SECRET + 119, 0 - seed)) ^ (load<u64>(left) + load<u64>(left, 8));
  }
  const high = one * PRIME64_1 + two * PRIME64_4 + ((length as u64) - seed) * PRIME64_2;
  give(avalanche(one + two), 0 - avalanche(high));
}

// @ts-ignore: decorator
@inline function secretFor(seed: u64): usize {
  return seed === 0 ? SECRET : SEEDED;
}

function begin(seed: u64): void {
  store<u64>(ACCUMULATORS, PRIME32_3);
  store<u64>(ACCUMULATORS, PRIME64_1, 8);
  store<u64>(ACCUMULATORS, PRIME64_2, 16);
  store<u64>(ACCUMULATORS, PRIME64_3, 24);
  store<u64>(ACCUMULATORS, PRIME64_4, 32);
  store<u64>(ACCUMULATORS, PRIME32_2, 40);
  store<u64>(ACCUMULATORS, PRIME64_5, 48);
  store<u64>(ACCUMULATORS, PRIME32_1, 56);
  if (seed === 0) return;
  for (let i: usize = 0; i < SECRET_LENGTH; i += 16) {
    store<u64>(SEEDED + i, load<u64>(SECRET + i) + seed);
    store<u64>(SEEDED + i, load<u64>(SECRET + i, 8) - seed, 8);
  }
}

/** Two of the eight accumulators with 16 bytes of a stripe. */
// @ts-ignore: decorator
@inline function step(sum: v128, data: v128, secret: v128): v128 {
  const value = v128.xor(data, secret);
  // The lower and the upper 32 bits of each number, side by side.
  const low = v128.shuffle<i32>(value, value, 0, 2, 0, 2);
  const high = v128.shuffle<i32>(value, value, 1, 3, 1, 3);
  const swapped = v128.shuffle<i64>(data, data, 1, 0);
  return i64x2.add(i64x2.add(sum, swapped), i64x2.extmul_low_i32x4_u(low, high));
}

/** Stripes, each with the secret 8 bytes further on. */
function stripes(at: usize, count: usize, secret: usize): void {
  let a = v128.load(ACCUMULATORS);
  let b = v128.load(ACCUMULATORS, 16);
  let c = v128.load(ACCUMULATORS, 32);
  let d = v128.load(ACCUMULATORS, 48);
  for (let i: usize = 0; i < count; i += 1) {
    a = step(a, v128.load(at), v128.load(secret));
    b = step(b, v128.load(at, 16), v128.load(secret, 16));
    c = step(c, v128.load(at, 32), v128.load(secret, 32));
    d = step(d, v128.load(at, 48), v128.load(secret, 48));
    at += STRIPE;
    secret += 8;
  }
  v128.store(ACCUMULATORS, a);
  v128.store(ACCUMULATORS, b, 16);
  v128.store(ACCUMULATORS, c, 32);
  v128.store(ACCUMULATORS, d, 48);
}

function rounds(at: usize, blocks: usize, secret: usize): void {
  for (let block: usize = 0; block < blocks; block += 1) {
    stripes(at, 16, secret);
    at += BLOCK;
    for (let i: usize = 0; i < 64; i += 8) {
      const sum = load<u64>(ACCUMULATORS + i);
      store<u64>(ACCUMULATORS + i, (sum ^ (sum >> 47) ^ load<u64>(secret + i, 128)) * PRIME32_1);
    }
  }
}

function merge(initial: u64, secret: usize): u64 {
  let sum = initial;
  for (let i: usize = 0; i < 64; i += 16) {
    sum += fold(load<u64>(ACCUMULATORS + i) ^ load<u64>(secret + i), load<u64>(ACCUMULATORS + i, 8) ^ load<u64>(secret + i, 8));
  }
  return avalanche(sum);
}

function finish(at: usize, length: usize, last: usize, total: u64, secret: usize): u64 {
  stripes(at, (length - 1) / STRIPE, secret);
  stripes(last, 1, secret + SECRET_LENGTH - 71);
  return merge(total * PRIME64_1, secret + 11);
}

/** Begins an input of more than 240 bytes that comes in parts. */
export function xxh3Begin(seed: u64): void {
  begin(seed);
}

/** Takes whole blocks of 1024 bytes; at least one byte of the input must remain. */
export function xxh3Blocks(at: usize, blocks: usize, seed: u64): void {
  rounds(at, blocks, secretFor(seed));
}

/** Ends it: the 1 to 1024 bytes that remain, the last 64 bytes of all (which may begin before), and the length of all. Both halves go into `result`. */
export function xxh3Finish(at: usize, length: usize, last: usize, total: u64, seed: u64): void {
  const secret = secretFor(seed);
  const low = finish(at, length, last, total, secret);
  give(low, merge(~(total * PRIME64_2), secret + SECRET_LENGTH - 75));
}
