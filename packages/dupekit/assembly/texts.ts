import { encode } from "./shingle";
import { hash64 } from "./xxh3";

/**
 * XXH3, 64 bits, of the UTF-8 of each of several texts of UTF-16, which lie one behind the other.
 *
 * @param ends - where each ends, in units from the begin of the first
 * @param bytes - memory for three bytes a unit of the longest text and 16 more
 * @param starts - memory for four bytes a unit of the longest text and 8 more
 */
export function hashTexts(texts: usize, ends: usize, count: usize, bytes: usize, starts: usize, hashes: usize): void {
  const beyond = i16x8.splat(-128);
  let from = texts;
  for (let i: usize = 0; i < count; i += 1) {
    const to = texts + (load<u32>(ends + i * 4) as usize) * 2;
    let length = (to - from) >> 1;
    let others: i32 = 0;
    for (let at: usize = 0; at < length; at += 8) {
      const units = v128.load(from + at * 2);
      // What lies behind the end is of the next text.
      const part = min<usize>(length - at, 8) as i32;
      others |= i16x8.bitmask(i16x8.ne(v128.and(units, beyond), i16x8.splat(0))) & ((1 << part) - 1);
      v128.store64_lane(bytes + at, i8x16.narrow_i16x8_u(units, units), 0);
    }
    if (others !== 0) {
      const words = encode(from, length, bytes, starts, 1);
      length = (load<u32>(starts + words * 4) as usize) - 1;
    }
    store<u64>(hashes + i * 8, hash64(bytes, length, 0));
    from = to;
  }
}
