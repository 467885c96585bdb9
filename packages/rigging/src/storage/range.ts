import { MarinError } from "@marin/ducky";
import type { ReadOptions } from "./storage.js";

/** A range with its defaults filled in. `end` may lie behind the object's. */
export interface Range {
  /** The first byte. */
  readonly start: number;
  /** The byte to stop before. */
  readonly end: number;
}

/** @throws MarinError RIGGING_BAD_RANGE */
export function rangeOf(path: string, { start = 0, end = Infinity }: ReadOptions): Range {
  const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
  if (isWhole(start) && (end === Infinity || isWhole(end)) && end >= start) return { start, end };
  throw new MarinError("RIGGING_BAD_RANGE", `Cannot read bytes ${String(start)} to ${String(end)} of ${path}: start and end are whole numbers, 0 or more, and start is not behind end.`, {
    data: { path, start, end },
  });
}

/** Whether the range is the whole object. */
export function isWhole(range: Range): boolean {
  return range.start === 0 && range.end === Infinity;
}

/** The order of listings: by the bytes of the names in UTF-8, which is the order of buckets. */
export function byUtf8(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
}

/** All bytes of a stream. */
export async function gather(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all.length === 1 && all[0] !== undefined ? all[0] : Buffer.concat(all);
}

/** The same chunks, until the signal aborts. */
export async function* untilAborted(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted();
  for await (const chunk of chunks) {
    yield chunk;
    signal?.throwIfAborted();
  }
}
