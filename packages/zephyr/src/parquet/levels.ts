/** What levels and dictionary places are read into. */
export type Levels = Uint8Array | Uint16Array | Uint32Array;

/** Bits that hold numbers up to `most`. */
export function bitWidth(most: number): number {
  return 32 - Math.clz32(most);
}

/** Room for numbers of so many bits. */
export function levelArray(width: number, length: number): Levels {
  return width <= 8 ? new Uint8Array(length) : width <= 16 ? new Uint16Array(length) : new Uint32Array(length);
}

/**
 * Reads runs of the RLE and bit-packing hybrid (Apache Parquet format, Encodings.md) until `out` is full.
 *
 * @returns where it ended
 * @throws Error where the bytes end before, or a run is longer than what is left by more than its padding
 */
export function readRuns(bytes: Uint8Array, start: number, end: number, width: number, out: Levels): number {
  let at = start;
  for (let seen = 0; seen < out.length; ) {
    let header = 0;
    for (let factor = 1; ; factor *= 128) {
      if (at >= end || factor > 2 ** 35) throw new Error("levels or dictionary places end too early");
      const byte = bytes[at++] ?? 0;
      header += (byte & 0x7f) * factor;
      if (byte < 0x80) break;
    }
    const half = Math.floor(header / 2);
    if (header % 2 === 0) {
      // Some writers repeat the last level a little beyond the page's values.
      if (half > out.length - seen + 64) throw new Error(`a run of ${String(half)} stands where ${String(out.length - seen)} are left`);
      const size = (width + 7) >> 3;
      if (at + size > end) throw new Error("levels or dictionary places end too early");
      let value = 0;
      for (let index = 0; index < size; index += 1) value += (bytes[at + index] ?? 0) * 2 ** (8 * index);
      at += size;
      out.fill(value, seen, Math.min(out.length, seen + half));
      seen += half;
    } else {
      const count = Math.min(8 * half, out.length - seen);
      // The last run may leave out the bytes of its padding.
      if (at + Math.ceil((count * width) / 8) > end) throw new Error("levels or dictionary places end too early");
      unpackBits(bytes, at, width, out, seen, count);
      at = Math.min(end, at + half * width);
      seen += 8 * half;
    }
  }
  return at;
}

function unpackBits(bytes: Uint8Array, start: number, width: number, out: Levels, first: number, count: number): void {
  if (width === 1) {
    for (let index = 0; index < count; index += 1) out[first + index] = ((bytes[start + (index >> 3)] ?? 0) >> (index & 7)) & 1;
    return;
  }
  if (width === 8) {
    for (let index = 0; index < count; index += 1) out[first + index] = bytes[start + index] ?? 0;
    return;
  }
  if (width <= 24) {
    const mask = (1 << width) - 1;
    let [bits, held, at] = [0, 0, start];
    for (let index = 0; index < count; index += 1) {
      for (; held < width; held += 8) bits |= (bytes[at++] ?? 0) << held;
      out[first + index] = bits & mask;
      bits >>>= width;
      held -= width;
    }
    return;
  }
  // Beyond 24 bits what is held would not fit into 32.
  for (let index = 0; index < count; index += 1) {
    let value = 0;
    for (let bit = 0; bit < width; bit += 1) {
      const place = index * width + bit;
      if ((((bytes[start + (place >> 3)] ?? 0) >> (place & 7)) & 1) === 1) value += 2 ** bit;
    }
    out[first + index] = value;
  }
}

/**
 * Numbers as runs of the hybrid: repeated ones where eight or more in a row are equal, bit-packed groups of eight elsewhere.
 *
 * @param width - at most 24 bits
 */
export function writeRuns(values: ArrayLike<number>, width: number): Uint8Array {
  const out: number[] = [];
  const varint = (value: number): void => {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) out.push((rest % 128) | 128);
    out.push(rest);
  };
  const { length } = values;
  let packedFrom = 0;
  const flush = (to: number): void => {
    if (to === packedFrom) return;
    const groups = Math.ceil((to - packedFrom) / 8);
    varint(groups * 2 + 1);
    let [bits, held] = [0, 0];
    for (let index = packedFrom; index < packedFrom + 8 * groups; index += 1) {
      bits |= (index < to ? (values[index] ?? 0) : 0) << held;
      for (held += width; held >= 8; held -= 8) {
        out.push(bits & 255);
        bits >>>= 8;
      }
    }
  };
  for (let index = 0; index < length; ) {
    let end = index + 1;
    while (end < length && values[end] === values[index]) end += 1;
    // A packed run holds whole groups: it takes what it lacks from this one.
    const start = index === packedFrom ? index : packedFrom + 8 * Math.ceil((index - packedFrom) / 8);
    if (end - start >= 8) {
      flush(start);
      varint((end - start) * 2);
      for (let byte = 0; byte < width; byte += 8) out.push(((values[index] ?? 0) >>> byte) & 255);
      packedFrom = end;
    }
    index = end;
  }
  flush(length);
  return Uint8Array.from(out);
}
