import { finish, mixBlock, scramble } from "./murmur3";

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

/**
 * Goes through UTF-16 text by a table. Either writes the cleaned text over it, with single spaces between words and none at the ends, and gives its length; or writes the hash of each word
 * (MurmurHash3 of its units as 32-bit numbers), and gives how many there are.
 */
// @ts-ignore: decorator
@inline function scan(text: usize, length: usize, table: usize, astral: usize, normalized: i32, hashes: usize, hashing: bool): i32 {
  let to = hashing ? hashes : text;
  let space = false;
  let hash: u32 = 0;
  let units: u32 = 0;
  const end = text + length * 2;
  for (let at = text; at < end; at += 2) {
    const unit = load<u16>(at) as usize;
    let value = load<u16>(table + unit * 2) as u32;
    let second: u32 = 0;
    if (value === 32) {
      if (hashing) {
        if (units > 0) {
          store<u32>(to, finish(hash ^ (units * 4)));
          to += 4;
          hash = 0;
          units = 0;
        }
      } else {
        space = to > text;
      }
      continue;
    }
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
    if (hashing) {
      hash = mixBlock(hash, scramble(value));
      units += 1;
      if (second > 0) {
        hash = mixBlock(hash, scramble(second));
        units += 1;
      }
      continue;
    }
    if (space) {
      store<u16>(to, 32);
      to += 2;
      space = false;
    }
    store<u16>(to, value as u16);
    to += 2;
    if (second > 0) {
      store<u16>(to, second as u16);
      to += 2;
    }
  }
  if (!hashing) return ((to - text) >> 1) as i32;
  if (units > 0) {
    store<u32>(to, finish(hash ^ (units * 4)));
    to += 4;
  }
  return ((to - hashes) >> 2) as i32;
}

/**
 * Cleans UTF-16 text in place: units become what the table says, white space becomes single spaces, none at the ends.
 *
 * @param normalized - 1 where the text is in normal form C, or need not be; 2 where it is cleaned already
 * @returns the length of the cleaned text, or one of the negative codes; then the text is spoilt
 */
export function clean(text: usize, length: usize, table: usize, astral: usize, normalized: i32): i32 {
  return scan(text, length, table, astral, normalized, 0, false);
}

/** The hashes of the words of the text that {@link clean} would make. Gives how many there are, or one of the negative codes. */
export function cleanWords(text: usize, length: usize, table: usize, astral: usize, normalized: i32, hashes: usize): i32 {
  return scan(text, length, table, astral, normalized, hashes, true);
}
