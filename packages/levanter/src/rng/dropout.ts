import type { RandomKey } from "./random-key.js";

/** One place of a model where activations are dropped. */
export interface DropoutSite {
  /** Shape of the mask, row-major; its first dimension goes through the batch's rows, so its size is a multiple of theirs. */
  readonly shape: readonly number[];
  /** Probability that a value is dropped, 0 to below 1. */
  readonly rate: number;
}

/** Rows of a step's whole batch for which masks are made: a microbatch. */
export interface DropoutRows {
  /** The first row, counted in the whole batch from 0. */
  readonly first: number;
  /** Number of rows. */
  readonly count: number;
}

// Words drawn at once.
const BLOCK = 4096;

/** Name of the input that takes a site's mask. */
export function dropoutName(site: string): string {
  return `dropout/${site}`;
}

/**
 * Masks for the rows of a microbatch, by input name (`dropout/<site>`), float32 of each site's shape: 0 with probability `rate`, otherwise 1 / (1 - rate), so
 * that the mean is 1 ("inverted dropout"; Srivastava et al., "Dropout", JMLR 2014).
 *
 * A row's mask follows from the key (`streamKey(seed, "dropout").fold(step)`), the site's name and the row's number in the whole batch: it is the same on every
 * engine, and however the batch is split into microbatches. Throws `RangeError` for a rate outside [0, 1) and for a shape that does not divide into rows.
 */
export function dropoutMasks(key: RandomKey, sites: Readonly<Record<string, DropoutSite>>, rows: DropoutRows): Record<string, Float32Array> {
  const masks: Record<string, Float32Array> = {};
  for (const [site, { shape, rate }] of Object.entries(sites)) {
    const size = shape.reduce((product, dimension) => product * dimension, 1);
    if (!(rate >= 0 && rate < 1)) throw new RangeError(`the dropout rate of ${site} must be from 0 to below 1, got ${String(rate)}`);
    if (size % rows.count !== 0) throw new RangeError(`the dropout mask of ${site} must divide into ${String(rows.count)} rows, got shape [${shape.join(", ")}]`);
    const mask = new Float32Array(size);
    const siteKey = key.fold(site);
    const length = size / rows.count;
    for (let row = 0; row < rows.count; row++) fillMask(siteKey.fold(rows.first + row), rate, mask.subarray(row * length, (row + 1) * length));
    masks[dropoutName(site)] = mask;
  }
  return masks;
}

/**
 * Fills one row's mask. Each value is decided by one random byte against the rate's first eight bits; where those are equal, 24 more bits decide, from a draw
 * of the value's own. So a threefry call serves eight values, and the probability is still exact to 2^-32.
 */
function fillMask(key: RandomKey, rate: number, mask: Float32Array): void {
  const kept = Math.fround(1 / (1 - rate));
  const threshold = Math.min(2 ** 32 - 1, Math.round(rate * 2 ** 32));
  const first = threshold >>> 24;
  const rest = threshold & 0xffffff;
  const words = new Uint32Array(Math.min(BLOCK, 2 * Math.ceil(mask.length / 8)));
  const values = Float32Array.from({ length: 256 }, (_, byte) => (byte > first ? kept : 0));
  const ties: number[] = [];
  const tieWord = new Uint32Array(2);
  const tieKey = key.fold("tie");
  for (let start = 0, offset = 0; start < mask.length; start += 4 * words.length, offset += words.length) {
    key.fillBits(words, offset);
    const count = Math.min(words.length * 4, mask.length - start);
    for (let at = 0; at < count; at++) {
      const byte = ((words[at >>> 2] as number) >>> (8 * (at & 3))) & 0xff;
      // Without a branch on the outcome, which no processor can predict.
      mask[start + at] = values[byte] as number;
      if (byte === first) ties.push(start + at);
    }
  }
  for (const i of ties) {
    tieKey.fillBits(tieWord, 2 * i);
    mask[i] = (tieWord[0] as number) >>> 8 < rest ? 0 : kept;
  }
}
