/** Reads numbers of DELTA_BINARY_PACKED (Apache Parquet format, Encodings.md), never past the end. */
class DeltaReader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw new Error("delta-encoded values end too early");
    return byte;
  }

  /** For counts. */
  count(): number {
    const value = this.varint();
    if (value > 0xffff_ffffn) throw new Error("a count of delta-encoded values is too large");
    return Number(value);
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new Error("a delta-encoded number does not end");
  }

  zigzag(): bigint {
    const value = this.varint();
    return (value >> 1n) ^ -(value & 1n);
  }
}

/**
 * Whole numbers, each stored as its distance from the one before. Sums wrap around at the width of `out`, as the format says.
 *
 * @returns where it ended
 */
export function readDeltas(bytes: Uint8Array, start: number, out: Int32Array | BigInt64Array): number {
  const reader = new DeltaReader(bytes, start);
  const perBlock = reader.count();
  const parts = reader.count();
  reader.count();
  let value = reader.zigzag();
  if (out.length === 0) return reader.at;
  const perPart = perBlock / parts;
  if (!Number.isInteger(perPart) || perPart % 8 !== 0 || perPart === 0) throw new Error("blocks of delta-encoded values have a wrong size");
  const put = out instanceof Int32Array ? (index: number) => (out[index] = Number(BigInt.asIntN(32, value))) : (index: number) => (out[index] = value);
  put(0);
  for (let seen = 1; seen < out.length; ) {
    const least = reader.zigzag();
    const widthsAt = reader.at;
    if (widthsAt + parts > bytes.length) throw new Error("delta-encoded values end too early");
    reader.at += parts;
    for (let part = 0; part < parts && seen < out.length; part += 1) {
      const width = bytes[widthsAt + part] ?? 0;
      if (width > 64) throw new Error(`delta-encoded values have ${String(width)} bits`);
      const count = Math.min(perPart, out.length - seen);
      // The last part may leave out the bytes of its padding.
      if (reader.at + Math.ceil((count * width) / 8) > bytes.length) throw new Error("delta-encoded values end too early");
      for (let index = 0; index < count; index += 1) {
        value += least + bitsAt(bytes, 8 * reader.at + index * width, width);
        put(seen);
        seen += 1;
        // Kept small; what is stored wraps alike.
        value = BigInt.asIntN(64, value);
      }
      reader.at += (perPart * width) / 8;
    }
  }
  return Math.min(reader.at, bytes.length);
}

/** Up to 64 bits from a place on, the lowest first. */
function bitsAt(bytes: Uint8Array, bit: number, width: number): bigint {
  if (width === 0) return 0n;
  let value = 0;
  let high = 0n;
  let [place, got] = [bit, 0];
  while (got < width) {
    const take = Math.min(8 - (place & 7), width - got);
    const part = ((bytes[place >> 3] ?? 0) >> (place & 7)) & ((1 << take) - 1);
    // Doubles are exact up to 2^53.
    if (got + take <= 48) value += part * 2 ** got;
    else high |= BigInt(part) << BigInt(got);
    place += take;
    got += take;
  }
  return high | BigInt(value);
}

/** Byte strings whose lengths stand before them all. */
export function readLengthStrings(bytes: Uint8Array, start: number, count: number): Uint8Array[] {
  const lengths = new Int32Array(count);
  let at = readDeltas(bytes, start, lengths);
  return Array.from(lengths, (length) => {
    const value = piece(bytes, at, length);
    at += length;
    return value;
  });
}

/** Byte strings of which each begins with a part of the one before. */
export function readFrontStrings(bytes: Uint8Array, start: number, count: number): Uint8Array[] {
  const prefixes = new Int32Array(count);
  const suffixes = readLengthStrings(bytes, readDeltas(bytes, start, prefixes), count);
  let before: Uint8Array = new Uint8Array();
  return suffixes.map((suffix, index) => {
    const shared = piece(before, 0, prefixes[index] ?? 0);
    if (shared.length === 0) return (before = suffix);
    before = Uint8Array.from(Buffer.concat([shared, suffix]));
    return before;
  });
}

function piece(bytes: Uint8Array, at: number, length: number): Uint8Array {
  if (length < 0 || at + length > bytes.length) throw new Error(`a value of ${String(length)} bytes stands where ${String(bytes.length - at)} are left`);
  return bytes.subarray(at, at + length);
}
