import { finish, finish4, mixBlock, mixBlock4, scramble, scramble4 } from "./murmur3";
import { hash64 } from "./xxh3";

/** The code points of UTF-16 text; half of a pair that stands alone is one. Gives how many there are. */
export function codePoints(text: usize, length: usize, points: usize): usize {
  let to = points;
  const end = text + length * 2;
  for (let at = text; at < end; at += 2) {
    let point = load<u16>(at) as u32;
    if ((point & 0xfc00) === 0xd800 && at + 2 < end) {
      const next = load<u16>(at, 2) as u32;
      if ((next & 0xfc00) === 0xdc00) {
        point = (((point & 0x3ff) << 10) | (next & 0x3ff)) + 0x10000;
        at += 2;
      }
    }
    store<u32>(to, point);
    to += 4;
  }
  return (to - points) >> 2;
}

/** Replaces 32-bit numbers by the hash of each window of `size` of them: MurmurHash3 of its numbers. Gives how many there are. */
export function windows32(numbers: usize, count: usize, size: usize): usize {
  if (count === 0) return 0;
  const length = min(size, count);
  const all = numbers + count * 4;
  let next = numbers;
  for (; next + 16 <= all; next += 16) v128.store(next, scramble4(v128.load(next)));
  for (; next < all; next += 4) store<u32>(next, scramble(load<u32>(next)));
  const windows = count - length + 1;
  const bytes = (length * 4) as u32;
  const end = numbers + windows * 4;
  let at = numbers;
  // Four windows at a time: what they begin with is overwritten, but later ones do not reach back to it.
  for (; at + 16 <= end; at += 16) {
    let hash = i32x4.splat(0);
    for (let i: usize = 0; i < length * 4; i += 4) hash = mixBlock4(hash, v128.load(at + i));
    v128.store(at, finish4(v128.xor(hash, i32x4.splat(bytes))));
  }
  for (; at < end; at += 4) {
    let hash: u32 = 0;
    for (let i: usize = 0; i < length * 4; i += 4) hash = mixBlock(hash, load<u32>(at + i));
    store<u32>(at, finish(hash ^ bytes));
  }
  return windows;
}

/**
 * UTF-16 text as UTF-8, half of a pair that stands alone as U+FFFD.
 *
 * @param starts - gets where every word (after a space) or character begins, and, after the last, where another would
 * @returns how many there are
 */
export function encode(text: usize, length: usize, bytes: usize, starts: usize, words: i32): usize {
  if (length === 0) return 0;
  let to = bytes;
  let start = starts;
  const end = text + length * 2;
  if (words) {
    store<u32>(start, 0);
    start += 4;
  }
  for (let at = text; at < end; at += 2) {
    if (!words) {
      store<u32>(start, (to - bytes) as u32);
      start += 4;
    }
    let point = load<u16>(at) as u32;
    if (point < 0x80) {
      store<u8>(to, point);
      to += 1;
      if (words && point === 32) {
        store<u32>(start, (to - bytes) as u32);
        start += 4;
      }
      continue;
    }
    if (point < 0x800) {
      store<u8>(to, (point >> 6) | 0xc0);
      store<u8>(to, (point & 0x3f) | 0x80, 1);
      to += 2;
      continue;
    }
    if ((point & 0xf800) === 0xd800) {
      const next = at + 2 < end ? (load<u16>(at, 2) as u32) : 0;
      if (point < 0xdc00 && (next & 0xfc00) === 0xdc00) {
        point = (((point & 0x3ff) << 10) | (next & 0x3ff)) + 0x10000;
        at += 2;
        store<u8>(to, (point >> 18) | 0xf0);
        store<u8>(to, ((point >> 12) & 0x3f) | 0x80, 1);
        store<u8>(to, ((point >> 6) & 0x3f) | 0x80, 2);
        store<u8>(to, (point & 0x3f) | 0x80, 3);
        to += 4;
        continue;
      }
      point = 0xfffd;
    }
    store<u8>(to, (point >> 12) | 0xe0);
    store<u8>(to, ((point >> 6) & 0x3f) | 0x80, 1);
    store<u8>(to, (point & 0x3f) | 0x80, 2);
    to += 3;
  }
  // Words are followed by a space, which the last one has not.
  store<u32>(start, (to - bytes) as u32 + (words ? 1 : 0));
  return (start - starts) >> 2;
}

/** XXH3, 64 bits, of every window of `size` words or characters that {@link encode} gave. Gives how many there are. */
export function windows64(bytes: usize, starts: usize, count: usize, size: usize, words: i32, hashes: usize): usize {
  if (count === 0) return 0;
  const length = min(size, count);
  const windows = count - length + 1;
  for (let i: usize = 0; i < windows; i += 1) {
    const start = load<u32>(starts + i * 4) as usize;
    const end = (load<u32>(starts + (i + length) * 4) as usize) - (words ? 1 : 0);
    store<u64>(hashes + i * 8, hash64(bytes + start, end - start, 0));
  }
  return windows;
}

/** XXH3, 64 bits, of every window of `size` 32-bit numbers. Gives how many there are. */
export function tokenWindows64(numbers: usize, count: usize, size: usize, hashes: usize): usize {
  if (count === 0) return 0;
  const length = min(size, count);
  const windows = count - length + 1;
  for (let i: usize = 0; i < windows; i += 1) store<u64>(hashes + i * 8, hash64(numbers + i * 4, length * 4, 0));
  return windows;
}
