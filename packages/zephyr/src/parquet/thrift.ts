/** A value of Thrift's compact protocol. Whole numbers are exact up to 2^53; true and false are 1 and 0. */
export type ThriftValue = number | Uint8Array | readonly ThriftValue[] | ThriftStruct;

/** A struct's fields by id; those that the reader has no use for (maps, UUIDs) are left out. */
export type ThriftStruct = ReadonlyMap<number, ThriftValue>;

/** Deeper structs are no Parquet. */
const mostDepth = 16;

/**
 * Reads Thrift's compact protocol (Apache Thrift, thrift-compact-protocol.md), never past the end: a list that claims more items
 * than there are bytes is refused before anything is made for it.
 */
export class ThriftReader {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  /** Where the next byte is read. */
  get at(): number {
    return this.#at;
  }

  /** Bytes that are left. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** A view of the next bytes. @throws Error where fewer are left */
  take(length: number): Uint8Array {
    if (!(length <= this.left)) throw new Error(`${String(length)} bytes are needed where ${String(this.left)} are left`);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** A struct. @throws Error for what is none */
  struct(depth = 0): ThriftStruct {
    if (depth > mostDepth) throw new Error("a struct is nested too deep");
    const fields = new Map<number, ThriftValue>();
    for (let id = 0; ; ) {
      const head = this.#byte();
      if ((head & 15) === 0) return fields;
      id = head >> 4 === 0 ? this.#zigzag() : id + (head >> 4);
      const value = this.#value(head & 15, depth);
      if (value !== undefined) fields.set(id, value);
    }
  }

  #byte(): number {
    if (this.#at >= this.#bytes.length) throw new Error("a struct does not end");
    return this.#bytes[this.#at++] ?? 0;
  }

  #varint(): number {
    let value = 0;
    for (let factor = 1; factor < 2 ** 70; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new Error("a number does not end");
  }

  #zigzag(): number {
    const value = this.#varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  #value(type: number, depth: number): ThriftValue | undefined {
    switch (type) {
      case 1:
      case 2:
        return 2 - type;
      case 3:
        return (this.#byte() << 24) >> 24;
      case 4:
      case 5:
      case 6:
        return this.#zigzag();
      case 7:
        return void this.take(8);
      case 8:
        return this.take(this.#varint());
      case 9:
      case 10:
        return this.#list(depth);
      case 12:
        return this.struct(depth + 1);
      default:
        throw new Error(`a field has the unknown type ${String(type)}`);
    }
  }

  #list(depth: number): readonly ThriftValue[] {
    const head = this.#byte();
    const length = head >> 4 === 15 ? this.#varint() : head >> 4;
    // Each item takes a byte at least.
    if (length > this.left) throw new Error(`a list of ${String(length)} items stands where ${String(this.left)} bytes are left`);
    const items: ThriftValue[] = [];
    for (let index = 0; index < length; index += 1) {
      // In a list, unlike in a field, a boolean has a byte of its own.
      const value = (head & 15) <= 2 ? Number(this.#byte() === 1) : this.#value(head & 15, depth + 1);
      if (value !== undefined) items.push(value);
    }
    return items;
  }
}

/** A field to write: numbers of 16, 32 and 64 bits are written alike but for their type. */
export type ThriftField =
  | { readonly bool: boolean }
  | { readonly i8: number }
  | { readonly i16: number }
  | { readonly i32: number }
  | { readonly i64: number }
  | { readonly binary: string | Uint8Array }
  | { readonly struct: ThriftFields }
  | { readonly list: "bool"; readonly items: readonly boolean[] }
  | { readonly list: "i32" | "i64"; readonly items: readonly number[] }
  | { readonly list: "binary"; readonly items: readonly (string | Uint8Array)[] }
  | { readonly list: "struct"; readonly items: readonly ThriftFields[] };

/** A struct's fields by id, the ids ascending; undefined ones are left out. */
export type ThriftFields = readonly (readonly [id: number, value: ThriftField | undefined])[];

const listTypes = { bool: 1, i32: 5, i64: 6, binary: 8, struct: 12 } as const;

/** A struct in Thrift's compact protocol. */
export function thriftBytes(fields: ThriftFields): Uint8Array {
  const out = new ThriftWriter();
  out.struct(fields);
  return out.bytes();
}

class ThriftWriter {
  #bytes = Buffer.allocUnsafe(256);
  #at = 0;

  bytes(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#bytes, 0, this.#at);
  }

  struct(fields: ThriftFields): void {
    let last = 0;
    for (const [id, field] of fields) {
      if (field === undefined) continue;
      const type = typeOf(field);
      if (id - last < 16) this.#byte(((id - last) << 4) | type);
      else {
        this.#byte(type);
        this.#zigzag(id);
      }
      last = id;
      this.#field(field);
    }
    this.#byte(0);
  }

  #field(field: ThriftField): void {
    if ("bool" in field) return;
    if ("i8" in field) this.#byte(field.i8 & 255);
    else if ("i16" in field) this.#zigzag(field.i16);
    else if ("i32" in field) this.#zigzag(field.i32);
    else if ("i64" in field) this.#zigzag(field.i64);
    else if ("binary" in field) this.#binary(field.binary);
    else if ("struct" in field) this.struct(field.struct);
    else this.#list(field);
  }

  #list(field: Extract<ThriftField, { readonly list: string }>): void {
    const { length } = field.items;
    const type = listTypes[field.list];
    if (length < 15) this.#byte((length << 4) | type);
    else {
      this.#byte(0xf0 | type);
      this.#varint(length);
    }
    if (field.list === "bool") for (const item of field.items) this.#byte(item ? 1 : 2);
    else if (field.list === "binary") for (const item of field.items) this.#binary(item);
    else if (field.list === "struct") for (const item of field.items) this.struct(item);
    else for (const item of field.items) this.#zigzag(item);
  }

  #binary(value: string | Uint8Array): void {
    const bytes = typeof value === "string" ? Buffer.from(value, "utf8") : value;
    this.#varint(bytes.length);
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Exact up to 2^52. */
  #zigzag(value: number): void {
    this.#varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  #varint(value: number): void {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#byte((rest % 128) | 128);
    this.#byte(rest);
  }

  #byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#at++] = value;
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

function typeOf(field: ThriftField): number {
  if ("bool" in field) return field.bool ? 1 : 2;
  if ("i8" in field) return 3;
  if ("i16" in field) return 4;
  if ("i32" in field) return 5;
  if ("i64" in field) return 6;
  if ("binary" in field) return 8;
  return "struct" in field ? 12 : 9;
}
