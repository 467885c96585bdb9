import { SHORT_TEXT, SMALL_INTEGER, tags, typedArrays } from "./record-codec.js";

/** The name of a field as it was met last at its place in a record: the next record has most likely the same. */
interface Name {
  readonly text: string;
  readonly tag: number;
  readonly bytes: Buffer;
}

/** Reads what `writeValue` wrote. What it gives does not point into the bytes it was read from. */
export class RecordReader {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  readonly #names: Name[] = [];
  #fields = 0;

  /** The value whose bytes begin at `start`. */
  read(bytes: Buffer, start: number): unknown {
    this.start(bytes, start);
    return this.next();
  }

  /** Begins with the value whose bytes begin at `start`. */
  start(bytes: Buffer, start: number): void {
    this.#bytes = bytes;
    this.#at = start;
  }

  /** The next value. */
  next(): unknown {
    this.#fields = 0;
    return this.#value();
  }

  #value(): unknown {
    const tag = this.#bytes[this.#at++] as number;
    if (tag >= SMALL_INTEGER) return tag - SMALL_INTEGER;
    if (tag >= SHORT_TEXT) return this.#text("latin1", tag - SHORT_TEXT);
    switch (tag) {
      case tags.null:
        return null;
      case tags.undefined:
        return undefined;
      case tags.false:
        return false;
      case tags.true:
        return true;
      case tags.integer: {
        const zigzag = this.#varint();
        return (zigzag >>> 1) ^ -(zigzag & 1);
      }
      case tags.double:
        return this.#double();
      case tags.int64:
        this.#at += 8;
        return this.#bytes.readBigInt64LE(this.#at - 8);
      case tags.bigint:
        return this.#bigint();
      case tags.ascii:
        return this.#text("latin1", this.#varint());
      case tags.utf8:
        return this.#text("utf8", this.#varint());
      case tags.utf16:
        return this.#text("utf16le", this.#varint());
      case tags.date:
        return new Date(this.#double());
      case tags.typedArray:
        return this.#typedArray();
      case tags.array:
        return this.#array();
      case tags.object:
        return this.#object();
      case tags.map: {
        const map = new Map<unknown, unknown>();
        for (let left = this.#varint(); left > 0; left--) {
          const key = this.#value();
          map.set(key, this.#value());
        }
        return map;
      }
      case tags.set: {
        const set = new Set<unknown>();
        for (let left = this.#varint(); left > 0; left--) set.add(this.#value());
        return set;
      }
      default:
        throw new RangeError(`no record: tag ${String(tag)} at byte ${String(this.#at - 1)}`);
    }
  }

  #array(): unknown[] {
    const length = this.#varint();
    const items: unknown[] = [];
    for (let index = 0; index < length; index++) items.push(this.#value());
    return items;
  }

  #object(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (let left = this.#varint(); left > 0; left--) {
      const name = this.#name();
      const value = this.#value();
      if (name === "__proto__") Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
      else object[name] = value;
    }
    return object;
  }

  #name(): string {
    const place = this.#fields++ & 0xff;
    const known = this.#names[place];
    const start = this.#at;
    const bytes = this.#bytes;
    if (known !== undefined && known.tag === bytes[start]) {
      const { bytes: expected } = known;
      let same = 0;
      while (same < expected.length && expected[same] === bytes[start + 1 + same]) same += 1;
      if (same === expected.length) {
        this.#at = start + 1 + same;
        return known.text;
      }
    }
    const text = this.#value() as string;
    const tag = bytes[start] as number;
    // Only short names: the tag says how long they are.
    if (tag >= SHORT_TEXT && tag < SMALL_INTEGER) this.#names[place] = { text, tag, bytes: Buffer.from(bytes.subarray(start + 1, this.#at)) };
    return text;
  }

  #text(encoding: "latin1" | "utf8" | "utf16le", size: number): string {
    const start = this.#at;
    this.#at += size;
    return this.#bytes.toString(encoding, start, this.#at);
  }

  #typedArray(): unknown {
    const kind = typedArrays[this.#bytes[this.#at++] as number];
    const size = this.#varint();
    if (kind === undefined) throw new RangeError(`no record: an unknown kind of array at byte ${String(this.#at)}`);
    const copy = new Uint8Array(size);
    copy.set(this.#bytes.subarray(this.#at, this.#at + size));
    this.#at += size;
    return kind === Uint8Array ? copy : new kind(copy.buffer);
  }

  #bigint(): bigint {
    const length = this.#varint();
    const size = Math.floor(length / 2);
    const magnitude = BigInt(`0x${this.#bytes.toString("hex", this.#at, this.#at + size)}`);
    this.#at += size;
    return length % 2 === 0 ? magnitude : -magnitude;
  }

  #double(): number {
    this.#at += 8;
    return this.#bytes.readDoubleLE(this.#at - 8);
  }

  #varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.#bytes[this.#at++] as number;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }
}
