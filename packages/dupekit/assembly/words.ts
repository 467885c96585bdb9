import { finish, finish4, mixBlock, mixBlock4, scramble, scramble4 } from "./murmur3";

/** Words that are hashed at a time. */
const BATCH: usize = 512;
/** Where each word of a batch begins, and where one after the last would. */
const STARTS: usize = memory.data(513 * 4, 16);
/** The places in the batch of its words by their length, with room to fill the last four up; those of {@link LONG} units and more are in the list 0. */
const LISTS: usize = memory.data(16 * 516 * 4, 16);
const LIST: usize = 516 * 4;
const LONG: usize = 16;
/** How many each list holds. */
const COUNTS: usize = memory.data(16 * 4, 16);

// @ts-ignore: decorator
@inline function startOf(place: usize): usize {
  return load<u32>(STARTS + place * 4) as usize;
}

/** Four units of each of two words, in turn. */
// @ts-ignore: decorator
@inline function inTurn(a: usize, b: usize): v128 {
  return i8x16.shuffle(v128.load64_zero(a), v128.load64_zero(b), 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23);
}

/** Four hashes with the units of one place of four words. */
// @ts-ignore: decorator
@inline function mix(hashes: v128, units: v128): v128 {
  return mixBlock4(hashes, scramble4(units));
}

/** Hashes the words of a length below {@link LONG}, four at a time. */
function hashEqual(length: usize, count: usize, hashes: usize): void {
  const places = LISTS + length * LIST;
  const last = load<u32>(places + count * 4 - 4);
  for (let i: usize = 0; i < 3; i += 1) store<u32>(places + (count + i) * 4, last);
  const rest = length & 3;
  const whole = (length - rest) * 2;
  const bytes = i32x4.splat((length * 4) as i32);
  for (let at = places; at < places + count * 4; at += 16) {
    const a = load<u32>(at) as usize;
    const b = load<u32>(at, 4) as usize;
    const c = load<u32>(at, 8) as usize;
    const d = load<u32>(at, 12) as usize;
    const startA = startOf(a);
    const startB = startOf(b);
    const startC = startOf(c);
    const startD = startOf(d);
    let hash = i32x4.splat(0);
    let before: usize = 0;
    for (; before < whole; before += 8) {
      const ab = inTurn(startA + before, startB + before);
      const cd = inTurn(startC + before, startD + before);
      const first = i32x4.shuffle(ab, cd, 0, 4, 1, 5);
      const second = i32x4.shuffle(ab, cd, 2, 6, 3, 7);
      hash = mix(hash, i32x4.extend_low_i16x8_u(first));
      hash = mix(hash, i32x4.extend_high_i16x8_u(first));
      hash = mix(hash, i32x4.extend_low_i16x8_u(second));
      hash = mix(hash, i32x4.extend_high_i16x8_u(second));
    }
    if (rest > 0) {
      const ab = inTurn(startA + before, startB + before);
      const cd = inTurn(startC + before, startD + before);
      const first = i32x4.shuffle(ab, cd, 0, 4, 1, 5);
      hash = mix(hash, i32x4.extend_low_i16x8_u(first));
      if (rest > 1) hash = mix(hash, i32x4.extend_high_i16x8_u(first));
      if (rest > 2) hash = mix(hash, i32x4.extend_low_i16x8_u(i32x4.shuffle(ab, cd, 2, 6, 3, 7)));
    }
    hash = finish4(v128.xor(hash, bytes));
    v128.store32_lane(hashes + a * 4, hash, 0);
    v128.store32_lane(hashes + b * 4, hash, 1);
    v128.store32_lane(hashes + c * 4, hash, 2);
    v128.store32_lane(hashes + d * 4, hash, 3);
  }
}

function hashBatch(hashes: usize): void {
  for (let length: usize = 1; length < LONG; length += 1) {
    const count = load<u32>(COUNTS + length * 4) as usize;
    if (count === 0) continue;
    hashEqual(length, count, hashes);
    store<u32>(COUNTS + length * 4, 0);
  }
  const end = LISTS + load<u32>(COUNTS) * 4;
  for (let at = LISTS; at < end; at += 4) {
    const place = load<u32>(at) as usize;
    const from = startOf(place);
    const to = startOf(place + 1) - 2;
    let hash: u32 = 0;
    for (let unit = from; unit < to; unit += 2) hash = mixBlock(hash, scramble(load<u16>(unit)));
    store<u32>(hashes + place * 4, finish(hash ^ (((to - from) * 2) as u32)));
  }
  store<u32>(COUNTS, 0);
}

/** Notes a word of a batch. */
// @ts-ignore: decorator
@inline function note(place: usize, start: usize, end: usize): void {
  store<u32>(STARTS + place * 4 + 4, (end + 2) as u32);
  const length = (end - start) >> 1;
  const list = select<usize>(length, 0, length < LONG);
  const count = load<u32>(COUNTS + list * 4) as usize;
  store<u32>(LISTS + list * LIST + count * 4, place as u32);
  store<u32>(COUNTS + list * 4, (count + 1) as u32);
}

/** The hash of each word (MurmurHash3 of its units as 32-bit numbers) of UTF-16 text with single spaces between words and none at the ends. Gives how many there are. */
export function wordHashes(text: usize, length: usize, hashes: usize): usize {
  if (length === 0) return 0;
  const end = text + length * 2;
  const space = i16x8.splat(32);
  let start = text;
  let place: usize = 0;
  let to = hashes;
  store<u32>(STARTS, start as u32);
  for (let block = text; block < end; block += 128) {
    let ends: u64 = 0;
    for (let part: usize = 0; part < 4; part += 1) {
      const at = block + part * 32;
      const found = i8x16.narrow_i16x8_s(i16x8.eq(v128.load(at), space), i16x8.eq(v128.load(at, 16), space));
      ends |= (i8x16.bitmask(found) as u64) << (part * 16);
    }
    // Behind the text lies anything.
    if (end - block < 128) ends &= ((1 as u64) << ((end - block) >> 1)) - 1;
    for (; ends !== 0; ends &= ends - 1) {
      const at = block + (ctz<u64>(ends) as usize) * 2;
      note(place, start, at);
      start = at + 2;
      place += 1;
      if (place === BATCH) {
        hashBatch(to);
        store<u32>(STARTS, start as u32);
        to += BATCH * 4;
        place = 0;
      }
    }
  }
  note(place, start, end);
  hashBatch(to);
  return ((to - hashes) >> 2) + place + 1;
}
