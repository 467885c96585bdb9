// BLAKE3 without a key, 32 bytes, as its paper states it (O'Connor, Aumasson, Neves, Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere", 2020).

const BLOCK: usize = 64;
const CHUNK: usize = 1024;
const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;

// prettier-ignore
const INITIAL: usize = memory.data<u32>([0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19], 16);
/** The words of a block in the order of each of the seven rounds. */
// prettier-ignore
const SCHEDULE: usize = memory.data<u8>([
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
  2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8,
  3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1,
  10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6,
  12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4,
  9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7,
  11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13,
], 16);
/** The words of one block of each of four chunks: 16 vectors. */
const WORDS: usize = memory.data(256, 16);
/** Chaining values of whole subtrees, the largest first: one for each set bit of the number of chunks. */
const STACK: usize = memory.data(54 * 32 + 64, 16);
/** Where the 32 bytes of a hash lie. */
const HASH: usize = memory.data(32, 16);
const CHAIN: usize = memory.data(128, 16);

let depth: usize = 0;
let chunks: u64 = 0;

// @ts-ignore: decorator
@inline function rotate16(x: v128): v128 {
  return v128.shuffle<u8>(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
}

// @ts-ignore: decorator
@inline function rotate12(x: v128): v128 {
  return v128.or(i32x4.shr_u(x, 12), i32x4.shl(x, 20));
}

// @ts-ignore: decorator
@inline function rotate8(x: v128): v128 {
  return v128.shuffle<u8>(x, x, 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12);
}

// @ts-ignore: decorator
@inline function rotate7(x: v128): v128 {
  return v128.or(i32x4.shr_u(x, 7), i32x4.shl(x, 25));
}

// @ts-ignore: decorator
@inline function word(schedule: usize, n: usize): v128 {
  return v128.load(WORDS + (load<u8>(schedule + n) as usize) * 16);
}

/** Four rows of four numbers as columns, from `at` (a row each `stride` bytes) to `to`. */
// @ts-ignore: decorator
@inline function transpose(at: usize, stride: usize, to: usize): void {
  const a = v128.load(at);
  const b = v128.load(at + stride);
  const c = v128.load(at + 2 * stride);
  const d = v128.load(at + 3 * stride);
  const ab = v128.shuffle<i32>(a, b, 0, 4, 1, 5);
  const AB = v128.shuffle<i32>(a, b, 2, 6, 3, 7);
  const cd = v128.shuffle<i32>(c, d, 0, 4, 1, 5);
  const CD = v128.shuffle<i32>(c, d, 2, 6, 3, 7);
  v128.store(to, v128.shuffle<i64>(ab, cd, 0, 2));
  v128.store(to, v128.shuffle<i64>(ab, cd, 1, 3), 16);
  v128.store(to, v128.shuffle<i64>(AB, CD, 0, 2), 32);
  v128.store(to, v128.shuffle<i64>(AB, CD, 1, 3), 48);
}

/** The chaining values of four whole chunks, one after the other to `to`. */
function fourChunks(at: usize, counter: u64, to: usize): void {
  let h0 = v128.load32_splat(INITIAL);
  let h1 = v128.load32_splat(INITIAL + 4);
  let h2 = v128.load32_splat(INITIAL + 8);
  let h3 = v128.load32_splat(INITIAL + 12);
  let h4 = v128.load32_splat(INITIAL + 16);
  let h5 = v128.load32_splat(INITIAL + 20);
  let h6 = v128.load32_splat(INITIAL + 24);
  let h7 = v128.load32_splat(INITIAL + 28);
  const low = i32x4.add(i32x4.splat(counter as i32), i32x4(0, 1, 2, 3));
  // Chunks go in fours, so the four counters differ in their lower halves only.
  const high = i32x4.splat((counter >> 32) as i32);
  for (let block: usize = 0; block < CHUNK; block += BLOCK) {
    for (let i: usize = 0; i < BLOCK; i += 16) transpose(at + block + i, CHUNK, WORDS + i * 4);
    let s0 = h0;
    let s1 = h1;
    let s2 = h2;
    let s3 = h3;
    let s4 = h4;
    let s5 = h5;
    let s6 = h6;
    let s7 = h7;
    let s8 = v128.load32_splat(INITIAL);
    let s9 = v128.load32_splat(INITIAL + 4);
    let s10 = v128.load32_splat(INITIAL + 8);
    let s11 = v128.load32_splat(INITIAL + 12);
    let s12 = low;
    let s13 = high;
    let s14 = i32x4.splat(BLOCK as i32);
    let s15 = i32x4.splat(block === 0 ? CHUNK_START : block === CHUNK - BLOCK ? CHUNK_END : 0);
    for (let schedule = SCHEDULE; schedule < SCHEDULE + 112; schedule += 16) {
    s0 = i32x4.add(i32x4.add(s0, s4), word(schedule, 0));
    s12 = rotate16(v128.xor(s12, s0));
    s8 = i32x4.add(s8, s12);
    s4 = rotate12(v128.xor(s4, s8));
    s0 = i32x4.add(i32x4.add(s0, s4), word(schedule, 1));
    s12 = rotate8(v128.xor(s12, s0));
    s8 = i32x4.add(s8, s12);
    s4 = rotate7(v128.xor(s4, s8));
    s1 = i32x4.add(i32x4.add(s1, s5), word(schedule, 2));
    s13 = rotate16(v128.xor(s13, s1));
    s9 = i32x4.add(s9, s13);
    s5 = rotate12(v128.xor(s5, s9));
    s1 = i32x4.add(i32x4.add(s1, s5), word(schedule, 3));
    s13 = rotate8(v128.xor(s13, s1));
    s9 = i32x4.add(s9, s13);
    s5 = rotate7(v128.xor(s5, s9));
    s2 = i32x4.add(i32x4.add(s2, s6), word(schedule, 4));
    s14 = rotate16(v128.xor(s14, s2));
    s10 = i32x4.add(s10, s14);
    s6 = rotate12(v128.xor(s6, s10));
    s2 = i32x4.add(i32x4.add(s2, s6), word(schedule, 5));
    s14 = rotate8(v128.xor(s14, s2));
    s10 = i32x4.add(s10, s14);
    s6 = rotate7(v128.xor(s6, s10));
    s3 = i32x4.add(i32x4.add(s3, s7), word(schedule, 6));
    s15 = rotate16(v128.xor(s15, s3));
    s11 = i32x4.add(s11, s15);
    s7 = rotate12(v128.xor(s7, s11));
    s3 = i32x4.add(i32x4.add(s3, s7), word(schedule, 7));
    s15 = rotate8(v128.xor(s15, s3));
    s11 = i32x4.add(s11, s15);
    s7 = rotate7(v128.xor(s7, s11));
    s0 = i32x4.add(i32x4.add(s0, s5), word(schedule, 8));
    s15 = rotate16(v128.xor(s15, s0));
    s10 = i32x4.add(s10, s15);
    s5 = rotate12(v128.xor(s5, s10));
    s0 = i32x4.add(i32x4.add(s0, s5), word(schedule, 9));
    s15 = rotate8(v128.xor(s15, s0));
    s10 = i32x4.add(s10, s15);
    s5 = rotate7(v128.xor(s5, s10));
    s1 = i32x4.add(i32x4.add(s1, s6), word(schedule, 10));
    s12 = rotate16(v128.xor(s12, s1));
    s11 = i32x4.add(s11, s12);
    s6 = rotate12(v128.xor(s6, s11));
    s1 = i32x4.add(i32x4.add(s1, s6), word(schedule, 11));
    s12 = rotate8(v128.xor(s12, s1));
    s11 = i32x4.add(s11, s12);
    s6 = rotate7(v128.xor(s6, s11));
    s2 = i32x4.add(i32x4.add(s2, s7), word(schedule, 12));
    s13 = rotate16(v128.xor(s13, s2));
    s8 = i32x4.add(s8, s13);
    s7 = rotate12(v128.xor(s7, s8));
    s2 = i32x4.add(i32x4.add(s2, s7), word(schedule, 13));
    s13 = rotate8(v128.xor(s13, s2));
    s8 = i32x4.add(s8, s13);
    s7 = rotate7(v128.xor(s7, s8));
    s3 = i32x4.add(i32x4.add(s3, s4), word(schedule, 14));
    s14 = rotate16(v128.xor(s14, s3));
    s9 = i32x4.add(s9, s14);
    s4 = rotate12(v128.xor(s4, s9));
    s3 = i32x4.add(i32x4.add(s3, s4), word(schedule, 15));
    s14 = rotate8(v128.xor(s14, s3));
    s9 = i32x4.add(s9, s14);
    s4 = rotate7(v128.xor(s4, s9));
    }
    h0 = v128.xor(s0, s8);
    h1 = v128.xor(s1, s9);
    h2 = v128.xor(s2, s10);
    h3 = v128.xor(s3, s11);
    h4 = v128.xor(s4, s12);
    h5 = v128.xor(s5, s13);
    h6 = v128.xor(s6, s14);
    h7 = v128.xor(s7, s15);
  }
  v128.store(WORDS, h0);
  v128.store(WORDS, h1, 16);
  v128.store(WORDS, h2, 32);
  v128.store(WORDS, h3, 48);
  v128.store(WORDS, h4, 64);
  v128.store(WORDS, h5, 80);
  v128.store(WORDS, h6, 96);
  v128.store(WORDS, h7, 112);
  for (let chunk: usize = 0; chunk < 4; chunk += 1) {
    for (let i: usize = 0; i < 8; i += 1) store<u32>(to + chunk * 32 + i * 4, load<u32>(WORDS + i * 16 + chunk * 4));
  }
}

/** Compresses one block of 64 bytes with the chaining value at `chain` into 32 bytes at `to`. */
function compress(chain: usize, block: usize, counter: u64, length: u32, flags: u32, to: usize): void {
  let a = v128.load(chain);
  let b = v128.load(chain, 16);
  let c = v128.load(INITIAL);
  let d = i32x4.replace_lane(i32x4.replace_lane(i64x2.splat(counter as i64), 2, length), 3, flags);
  // Words that the columns take first and second, and those of the diagonals.
  const low = v128.load(block);
  const next = v128.load(block, 16);
  const third = v128.load(block, 32);
  const last = v128.load(block, 48);
  let m = v128.shuffle<i32>(low, next, 0, 2, 4, 6);
  let n = v128.shuffle<i32>(low, next, 1, 3, 5, 7);
  let o = v128.shuffle<i32>(third, last, 0, 2, 4, 6);
  let p = v128.shuffle<i32>(third, last, 1, 3, 5, 7);
  for (let round = 0; ; round += 1) {
    a = i32x4.add(i32x4.add(a, b), m);
    d = rotate16(v128.xor(d, a));
    c = i32x4.add(c, d);
    b = rotate12(v128.xor(b, c));
    a = i32x4.add(i32x4.add(a, b), n);
    d = rotate8(v128.xor(d, a));
    c = i32x4.add(c, d);
    b = rotate7(v128.xor(b, c));
    b = v128.shuffle<i32>(b, b, 1, 2, 3, 0);
    c = v128.shuffle<i32>(c, c, 2, 3, 0, 1);
    d = v128.shuffle<i32>(d, d, 3, 0, 1, 2);
    a = i32x4.add(i32x4.add(a, b), o);
    d = rotate16(v128.xor(d, a));
    c = i32x4.add(c, d);
    b = rotate12(v128.xor(b, c));
    a = i32x4.add(i32x4.add(a, b), p);
    d = rotate8(v128.xor(d, a));
    c = i32x4.add(c, d);
    b = rotate7(v128.xor(b, c));
    b = v128.shuffle<i32>(b, b, 3, 0, 1, 2);
    c = v128.shuffle<i32>(c, c, 2, 3, 0, 1);
    d = v128.shuffle<i32>(d, d, 1, 2, 3, 0);
    if (round === 6) break;
    // The words' order in the next round.
    const first = v128.shuffle<i32>(m, n, 1, 5, 7, 2);
    const second = v128.shuffle<i32>(v128.shuffle<i32>(m, o, 3, 5, 0, 0), p, 0, 1, 2, 6);
    const diagonal = v128.shuffle<i32>(v128.shuffle<i32>(n, o, 0, 6, 0, 0), p, 0, 1, 4, 7);
    p = v128.shuffle<i32>(v128.shuffle<i32>(p, n, 1, 6, 0, 0), o, 0, 1, 7, 4);
    m = first;
    n = second;
    o = diagonal;
  }
  v128.store(to, v128.xor(a, c));
  v128.store(to, v128.xor(b, d), 16);
}

/** The chaining value of one chunk, the last of an input where it may be shorter. Its last block is at least one byte long unless all input is empty. */
function oneChunk(at: usize, length: usize, counter: u64, root: u32, to: usize): void {
  v128.store(CHAIN, v128.load(INITIAL));
  v128.store(CHAIN, v128.load(INITIAL, 16), 16);
  let flags = CHUNK_START;
  while (length > BLOCK) {
    compress(CHAIN, at, counter, BLOCK as u32, flags, CHAIN);
    flags = 0;
    at += BLOCK;
    length -= BLOCK;
  }
  memory.fill(WORDS, 0, BLOCK);
  memory.copy(WORDS, at, length);
  compress(CHAIN, WORDS, counter, length as u32, flags | CHUNK_END | root, to);
}

/** Puts a chunk's chaining value, which lies on top of the stack, to the subtrees: two of one size become one of twice that. */
function push(): void {
  depth += 1;
  chunks += 1;
  for (let count = chunks; (count & 1) === 0; count >>= 1) {
    depth -= 1;
    compress(INITIAL, STACK + (depth - 1) * 32, 0, BLOCK as u32, PARENT, STACK + (depth - 1) * 32);
  }
}

/** Begins an input. */
export function blake3Begin(): void {
  depth = 0;
  chunks = 0;
}

/** Takes whole chunks of 1024 bytes; at least one byte of the input must remain. */
export function blake3Chunks(at: usize, count: usize): void {
  for (; count >= 4 && (chunks & 3) === 0; count -= 4) {
    fourChunks(at, chunks, CHAIN);
    at += 4 * CHUNK;
    for (let i: usize = 0; i < 4; i += 1) {
      memory.copy(STACK + depth * 32, CHAIN + i * 32, 32);
      push();
    }
  }
  for (; count > 0; count -= 1) {
    oneChunk(at, CHUNK, chunks, 0, STACK + depth * 32);
    at += CHUNK;
    push();
  }
}

/** Ends it with the 0 to 1024 bytes that remain. Gives where the 32 bytes of the hash lie. */
export function blake3Finish(at: usize, length: usize): usize {
  if (depth === 0) {
    oneChunk(at, length, 0, ROOT, HASH);
    return HASH;
  }
  oneChunk(at, length, chunks, 0, STACK + depth * 32);
  for (; depth > 1; depth -= 1) compress(INITIAL, STACK + (depth - 1) * 32, 0, BLOCK as u32, PARENT, STACK + (depth - 1) * 32);
  compress(INITIAL, STACK, 0, BLOCK as u32, PARENT | ROOT, HASH);
  return HASH;
}
