import { kernelsFor, roundUp, type Kernels } from "./wasm/kernels.js";
import { xxh3Portable128, xxh3Portable64 } from "./xxh3-portable.js";

/** Input is copied to the kernels in parts of this size, a multiple of XXH3's blocks of 1024 bytes: small enough for the cache. */
const windowBytes = 65_536;
const encoder = new TextEncoder();
/** Texts, and units of UTF-16 of them, that are hashed by one call at most. */
const batchTexts = 1024;
const batchUnits = 16_384;

/**
 * XXH3 of 64 bits (Yann Collet's xxHash 0.8), bit for bit: fast, well mixed, not for security.
 *
 * @param data - bytes, or a text, which stands for its UTF-8 bytes
 * @param seed - another seed gives another, independent hash; from 0 to 2^64 - 1. Default 0
 * @returns an unsigned 64-bit number; in hexadecimal `hash.toString(16).padStart(16, "0")` is the canonical form
 * @throws RangeError for a seed out of range
 */
export function xxh3_64(data: string | Uint8Array, seed = 0n): bigint {
  checkSeed(seed);
  const kernels = kernelsFor(windowBytes);
  if (kernels === undefined) return xxh3Portable64(bytesOf(data), seed);
  const length = place(kernels, data);
  if (length === undefined) long(kernels, bytesOf(data), seed);
  else kernels.run.xxh3Narrow(kernels.free, length, seed);
  return half(kernels, 0);
}

/**
 * XXH3 of 128 bits, also called XXH128, bit for bit. As {@link xxh3_64}; of long input the lower half is that hash.
 *
 * @param data - bytes, or a text, which stands for its UTF-8 bytes
 * @param seed - from 0 to 2^64 - 1. Default 0
 * @returns an unsigned 128-bit number; in hexadecimal `hash.toString(16).padStart(32, "0")` is the canonical form
 * @throws RangeError for a seed out of range
 */
export function xxh3_128(data: string | Uint8Array, seed = 0n): bigint {
  checkSeed(seed);
  const kernels = kernelsFor(windowBytes);
  if (kernels === undefined) return xxh3Portable128(bytesOf(data), seed);
  const length = place(kernels, data);
  if (length === undefined) long(kernels, bytesOf(data), seed);
  else kernels.run.xxh3Wide(kernels.free, length, seed);
  return (half(kernels, 1) << 64n) | half(kernels, 0);
}

/**
 * {@link xxh3_64} as two 32-bit numbers, without making a bigint.
 *
 * @param pair - gets the lower and the upper half
 */
export function xxh3Pair(data: string | Uint8Array, pair: Uint32Array): void {
  const kernels = kernelsFor(windowBytes);
  if (kernels === undefined) {
    const hash = xxh3Portable64(bytesOf(data), 0n);
    pair[0] = Number(hash & 0xffff_ffffn);
    pair[1] = Number(hash >> 32n);
    return;
  }
  const length = place(kernels, data);
  if (length === undefined) long(kernels, bytesOf(data), 0n);
  else kernels.run.xxh3Unseeded(kernels.free, length);
  const at = kernels.result >>> 2;
  pair[0] = kernels.words[at] ?? 0;
  pair[1] = kernels.words[at + 1] ?? 0;
}

/**
 * {@link xxh3_64} of many items as 32-bit numbers, some at a time: of each item the lower and the upper half. A call for each text would cost more than its hash.
 */
export function* xxh3Batches(items: readonly (string | Uint8Array)[]): Generator<Uint32Array, void, undefined> {
  const pair = new Uint32Array(2);
  const ends = new Uint32Array(batchTexts);
  for (let from = 0; from < items.length; ) {
    const kernels = kernelsFor(batchUnits * (2 + 3 + 4) + batchTexts * (4 + 8) + 256);
    let count = 0;
    let units = 0;
    for (; kernels !== undefined && count < batchTexts; count += 1) {
      const item = items[from + count];
      if (typeof item !== "string" || units + item.length > batchUnits) break;
      units += item.length;
      ends[count] = units;
    }
    if (kernels === undefined || count === 0) {
      xxh3Pair(items[from] ?? "", pair);
      yield pair;
      from += 1;
      continue;
    }
    yield hashTexts(kernels, items.slice(from, from + count).join(""), ends.subarray(0, count));
    from += count;
  }
}

/** Texts that lie one behind the other, and where each ends. */
function hashTexts(kernels: Kernels, texts: string, ends: Uint32Array): Uint32Array {
  const { free, words, buffer } = kernels;
  const placed = roundUp(free + batchUnits * 2);
  const bytes = roundUp(placed + batchTexts * 4);
  const starts = roundUp(bytes + batchUnits * 3 + 16);
  const hashes = roundUp(starts + batchUnits * 4 + 8);
  buffer.write(texts, free, "utf16le");
  words.set(ends, placed >>> 2);
  kernels.run.hashTexts(free, placed, ends.length, bytes, starts, hashes);
  return words.slice(hashes >>> 2, (hashes >>> 2) + ends.length * 2);
}

/** Copies what fits into a window. @returns its bytes, or `undefined` when it does not fit */
function place({ bytes, buffer, free }: Kernels, data: string | Uint8Array): number | undefined {
  if (typeof data !== "string") {
    if (data.length > windowBytes) return undefined;
    bytes.set(data, free);
    return data.length;
  }
  // No call costs less than this loop for a short text.
  if (data.length <= 32) {
    let index = 0;
    for (; index < data.length; index += 1) {
      const unit = data.charCodeAt(index);
      if (unit > 127) break;
      bytes[free + index] = unit;
    }
    if (index === data.length) return index;
  }
  return data.length * 3 > windowBytes ? undefined : encoder.encodeInto(data, buffer.subarray(free, free + windowBytes)).written;
}

/** More than 240 bytes. */
function long(kernels: Kernels, data: Uint8Array, seed: bigint): void {
  const { run, free } = kernels;
  run.xxh3Begin(seed);
  // The last block stays, even where it is whole.
  const blocks = Math.floor((data.length - 1) / 1024) * 1024;
  for (let at = 0; at < blocks; at += windowBytes) {
    const part = data.subarray(at, Math.min(blocks, at + windowBytes));
    kernels.bytes.set(part, free);
    run.xxh3Blocks(free, part.length / 1024, seed);
  }
  const rest = data.length - blocks;
  const tail = Math.max(rest, 64);
  kernels.bytes.set(data.subarray(data.length - tail), free);
  run.xxh3Finish(free + tail - rest, rest, free + tail - 64, BigInt(data.length), seed);
}

function half({ words, result }: Kernels, index: 0 | 1): bigint {
  const at = (result >>> 2) + index * 2;
  return (BigInt(words[at + 1] ?? 0) << 32n) | BigInt(words[at] ?? 0);
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? encoder.encode(data) : data;
}

function checkSeed(seed: bigint): void {
  if (seed < 0n || seed >= 1n << 64n) throw new RangeError(`seed is from 0 to 2^64 - 1, found ${String(seed)}.`);
}
