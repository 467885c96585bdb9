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
 * Cleans UTF-16 text in place: units become what the table says, white space becomes single spaces, none at the ends.
 *
 * @param normalized - 1 where the text is in normal form C, or need not be
 * @returns the length of the cleaned text, or one of the negative codes; then the text is spoilt
 */
export function clean(text: usize, length: usize, table: usize, astral: usize, normalized: i32): i32 {
  let to = text;
  let space = false;
  const end = text + length * 2;
  for (let at = text; at < end; at += 2) {
    const unit = load<u16>(at) as usize;
    let value = load<u16>(table + unit * 2) as u32;
    if (value === 32) {
      space = to > text;
      continue;
    }
    if ((value & 0xf800) === 0xd800) {
      if (value === NOTHING) continue;
      if (value === UNKNOWN) return FILL;
      if (value === SPECIAL) return GENERAL;
      if (value === UNSTABLE) {
        if (!normalized) return NORMALIZE;
        value = unit as u32;
      } else if (value === SURROGATE) {
        value = unit as u32;
        const next = at + 2 < end ? (load<u16>(at, 2) as u32) : 0;
        if (value < 0xdc00 && (next & 0xfc00) === 0xdc00) {
          const point = (((value & 0x3ff) << 10) | (next & 0x3ff)) + 0x10000;
          if (point < 0x20000) {
            const kind = load<u8>(astral + (point as usize) - 0x10000) as u32;
            if (kind === DROPPED) {
              at += 2;
              continue;
            }
            if (kind === ASTRAL_SPECIAL) return GENERAL;
            if (kind === ASTRAL_UNSTABLE && !normalized) return NORMALIZE;
          } else if (point >= 0x2f800) {
            // Compatibility ideographs have other normal forms; further planes are rare.
            return GENERAL;
          }
          if (space) {
            store<u16>(to, 32);
            to += 2;
            space = false;
          }
          store<u32>(to, value | (next << 16));
          to += 4;
          at += 2;
          continue;
        }
      }
    }
    if (space) {
      store<u16>(to, 32);
      to += 2;
      space = false;
    }
    store<u16>(to, value as u16);
    to += 2;
  }
  return ((to - text) >> 1) as i32;
}
