// What a table says of a UTF-16 code unit: what it becomes (32: a space), or one of the codes below, which no unit becomes.
const SURROGATE: u32 = 0xd800;
const UNSTABLE: u32 = 0xd801;
const SPECIAL: u32 = 0xd802;
const UNKNOWN: u32 = 0xd803;
const NOTHING: u32 = 0xd804;

// What the table of the supplementary plane 1 says of a character: a byte each.
const DROPPED: u32 = 1;
const ASTRAL_UNSTABLE: u32 = 2;
const ASTRAL_SPECIAL: u32 = 3;

/** The text must be brought into normal form first. */
const NORMALIZE: i32 = -1;
/** The text holds what only the general way can do. */
const GENERAL: i32 = -2;
/** The table is not filled for all of the text. */
const FILL: i32 = -3;

/** Units of ASCII that are cleaned at a time. */
const BLOCK: usize = 32;

/** For each set of eight places, which are the ones in it: a byte each, in order. */
const CHOSEN: usize = memory.data(256 * 8, 16);
for (let set: u32 = 0; set < 256; set += 1) {
  let to = CHOSEN + (set as usize) * 8;
  for (let place: u32 = 0; place < 8; place += 1) {
    store<u8>(to, place);
    to += (set >> place) & 1;
  }
}

/** Writes those of eight bytes whose places are in the set, as UTF-16. Gives where they end; what is behind may be overwritten up to eight units from `to`. */
// @ts-ignore: decorator
@inline function choose(bytes: v128, set: u32, to: usize): usize {
  const places = v128.load64_zero(CHOSEN + (set as usize) * 8);
  v128.store(to, i16x8.extend_low_i8x16_u(i8x16.swizzle(bytes, places)));
  return to + (popcnt<u32>(set) as usize) * 2;
}

/**
 * Cleans UTF-16 text in place: units become what the table says, white space becomes single spaces, none at the ends. Sixteen units of ASCII at a time go without the table: all kinds of
 * cleaning do the same to them.
 *
 * @param normalized - 1 where the text is in normal form C, or need not be; 2 where it is cleaned already
 * @returns the length of the cleaned text, or one of the negative codes; then the text is spoilt
 */
export function clean(text: usize, length: usize, table: usize, astral: usize, normalized: i32): i32 {
  // Classes by the lower and the upper half of a byte of ASCII; a byte is of those that both name. 1 and 2: white space; the others: punctuation and symbols.
  const byLower = i8x16(0x12, 4, 4, 4, 4, 4, 4, 4, 4, 5, 0x0d, 0x6d, 0x6d, 0x6d, 0x6c, 0x2c);
  const byUpper = i8x16(1, 0, 6, 8, 16, 32, 16, 64, 0, 0, 0, 0, 0, 0, 0, 0);
  const beyond = i16x8.splat(-128);
  const zero = i8x16.splat(0);
  const lowerHalf = i8x16.splat(15);
  const spaces = i8x16.splat(3);
  let to = text;
  // Whether a space is behind, or the beginning: then another one goes.
  let behind: u32 = 1;
  const end = text + length * 2;
  for (let at = text; at < end; ) {
    let until = end;
    if (at + BLOCK <= end) {
      const first = v128.load(at);
      const second = v128.load(at, 16);
      if (!v128.any_true(v128.and(v128.or(first, second), beyond))) {
        const bytes = i8x16.narrow_i16x8_u(first, second);
        const classes = v128.and(i8x16.swizzle(byLower, v128.and(bytes, lowerHalf)), i8x16.swizzle(byUpper, i8x16.shr_u(bytes, 4)));
        const isSpace = i8x16.gt_s(v128.and(classes, spaces), zero);
        const isGone = i8x16.gt_s(classes, spaces);
        const isCapital = i8x16.gt_s(i8x16.add(bytes, i8x16.splat(127 - 90)), i8x16.splat(127 - 26));
        const lower = v128.or(bytes, v128.and(isCapital, i8x16.splat(32)));
        const cleaned = v128.bitselect(i8x16.splat(32), lower, isSpace);
        const space = i8x16.bitmask(isSpace) as u32;
        const open = space | (i8x16.bitmask(isGone) as u32);
        // From behind each space on, through what is no letter: a carry of the sum runs through.
        const from = (space << 1) | behind;
        const run = (((open + (from & open)) ^ open) | from) & open;
        behind = ((run | space) >> 15) & 1;
        const kept = ~(open ^ (space & ~run)) & 0xffff;
        to = choose(cleaned, kept & 0xff, to);
        to = choose(i8x16.shuffle(cleaned, cleaned, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7), kept >> 8, to);
        at += BLOCK;
        continue;
      }
      until = at + BLOCK;
    }
    for (; at < until; at += 2) {
      const unit = load<u16>(at) as usize;
      let value = load<u16>(table + unit * 2) as u32;
      if (value === 32) {
        if (behind === 0) {
          store<u16>(to, 32);
          to += 2;
          behind = 1;
        }
        continue;
      }
      let second: u32 = 0;
      if ((value & 0xf800) === 0xd800) {
        if (value === NOTHING) continue;
        if (value === UNKNOWN) return FILL;
        if (value === SPECIAL && normalized < 2) return GENERAL;
        if (value === UNSTABLE && !normalized) return NORMALIZE;
        const next = at + 2 < end ? (load<u16>(at, 2) as u32) : 0;
        if (value === SURROGATE && unit < 0xdc00 && (next & 0xfc00) === 0xdc00) {
          const point = ((((unit as u32) & 0x3ff) << 10) | (next & 0x3ff)) + 0x10000;
          // Compatibility ideographs have other normal forms; further planes are rare.
          if (point >= 0x2f800 && normalized < 2) return GENERAL;
          at += 2;
          if (point < 0x20000) {
            const kind = load<u8>(astral + (point as usize) - 0x10000) as u32;
            if (kind === DROPPED) continue;
            if (kind === ASTRAL_SPECIAL && normalized < 2) return GENERAL;
            if (kind === ASTRAL_UNSTABLE && !normalized) return NORMALIZE;
          }
          second = next;
        }
        value = unit as u32;
      }
      store<u16>(to, value as u16);
      to += 2;
      behind = 0;
      if (second > 0) {
        store<u16>(to, second as u16);
        to += 2;
      }
    }
  }
  if (behind !== 0 && to > text) to -= 2;
  return ((to - text) >> 1) as i32;
}
