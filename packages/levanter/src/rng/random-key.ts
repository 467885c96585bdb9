import { threefry2x32 } from "./threefry.js";

const WORD = 2 ** 32;

// The high counter word keeps the three uses of a key apart: numbers folded in lie below 2^21, draws and labels carry these marks.
const DRAW = 0x40000000;
const LABEL = 0x80000000;

/**
 * An immutable 64-bit random key. Everything random in levanter is a pure function of a key: keys are split by name with {@link fold}, never
 * advanced, so the order of draws cannot matter.
 */
export class RandomKey {
  /** High word of the key, unsigned 32 bits. */
  readonly high: number;
  /** Low word of the key, unsigned 32 bits. */
  readonly low: number;

  private constructor(high: number, low: number) {
    this.high = high >>> 0;
    this.low = low >>> 0;
  }

  /** The key of a seed: an integer from 0 to 2^53 - 1. Throws `RangeError` for anything else. */
  static fromSeed(seed: number): RandomKey {
    requireIndex(seed, "seed");
    return new RandomKey(Math.floor(seed / WORD), seed % WORD);
  }

  /**
   * An independent key derived from this one and a label: a string, or an integer from 0 to 2^53 - 1. Equal labels give equal keys; numbers and
   * strings never collide (`fold(1)` is not `fold("1")`). Throws `RangeError` for other numbers.
   */
  fold(label: string | number): RandomKey {
    if (typeof label === "number") {
      requireIndex(label, "label");
      return this.next(Math.floor(label / WORD), label % WORD);
    }
    // A cascade over 8-byte blocks. The length goes first, so that no label's blocks are the beginning of another's.
    const bytes = Buffer.from(label, "utf8");
    const blocks = Buffer.alloc(Math.ceil(bytes.length / 8) * 8);
    bytes.copy(blocks);
    let key = this.next(LABEL, bytes.length);
    for (let at = 0; at < blocks.length; at += 8) key = key.next(blocks.readUInt32LE(at), blocks.readUInt32LE(at + 4));
    return key;
  }

  /** Fills `out` with random 32-bit words, the draws `offset`, `offset + 1`, ... of this key (`offset` even, below 2^33). */
  fillBits(out: Uint32Array, offset = 0): void {
    const whole = out.length - (out.length % 2);
    for (let i = 0; i < whole; i += 2) threefry2x32(this.high, this.low, DRAW, (offset + i) / 2, out, i);
    if (whole === out.length) return;
    const pair = new Uint32Array(2);
    threefry2x32(this.high, this.low, DRAW, (offset + whole) / 2, pair);
    out[whole] = pair[0] ?? 0;
  }

  private next(high: number, low: number): RandomKey {
    const pair = new Uint32Array(2);
    threefry2x32(this.high, this.low, high, low, pair);
    return new RandomKey(pair[0] ?? 0, pair[1] ?? 0);
  }
}

function requireIndex(value: number, what: string): void {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(`${what} must be an integer from 0 to 2^53 - 1, got ${String(value)}`);
  }
}
