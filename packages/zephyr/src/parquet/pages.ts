import type { ColumnMetaData, SchemaTree } from "hyparquet";

/** A Thrift struct as far as page headers need it: numbers and structs by field id. */
type Struct = ReadonlyMap<number, number | Struct>;

/**
 * Walks the pages of a column before they are decoded, and throws an Error when headers or levels cannot be right. The Parquet
 * library follows what they say: a damaged one could keep it busy for ever, or make it fill the memory.
 *
 * @param chunk - the bytes of the column in a row group
 * @param column - what the table of contents says of it
 * @param tree - the file's schema
 */
export function checkPages(chunk: Uint8Array, column: ColumnMetaData, tree: SchemaTree): void {
  const cursor = new Cursor(chunk);
  const levels = maxLevels(column.path_in_schema, tree);
  let values = 0;
  // Some writers leave a byte or two behind the last page; the library passes over them as well.
  while (cursor.left > 1 && values < Number(column.num_values)) {
    const header = cursor.struct(0);
    const size = count(header, 3, "size");
    count(header, 2, "unpacked size");
    const page = cursor.take(size);
    const first = header.get(5);
    const second = header.get(8);
    if (first instanceof Map) {
      const number = count(first as Struct, 1, "number of values");
      if (column.codec === "UNCOMPRESSED") checkFirstLevels(page, number, levels);
      values += number;
    } else if (second instanceof Map) {
      values += checkSecond(page, second as Struct, levels);
    }
  }
  if (values !== Number(column.num_values)) {
    throw new Error(`the pages of column ${column.path_in_schema.join(".")} hold ${String(values)} values, and the table of contents says ${String(column.num_values)}`);
  }
}

interface Levels {
  readonly repetition: number;
  readonly definition: number;
}

function maxLevels(path: readonly string[], tree: SchemaTree): Levels {
  let node: SchemaTree | undefined = tree;
  let [repetition, definition] = [0, 0];
  for (const name of path) {
    node = node?.children.find(({ element }) => element.name === name);
    if (node?.element.repetition_type === "REPEATED") repetition += 1;
    if (node?.element.repetition_type !== "REQUIRED") definition += 1;
  }
  return { repetition, definition };
}

/** Pages of version 1 begin with their levels, each with its length. */
function checkFirstLevels(page: Uint8Array, number: number, { repetition, definition }: Levels): void {
  const cursor = new Cursor(page);
  for (const most of [repetition, definition]) {
    if (most === 0) continue;
    const length = new DataView(cursor.take(4).slice().buffer).getUint32(0, true);
    checkRuns(cursor.take(length), most, number);
  }
}

/** Pages of version 2 tell the lengths of their levels in the header, and never pack them. */
function checkSecond(page: Uint8Array, header: Struct, { repetition, definition }: Levels): number {
  const number = count(header, 1, "number of values");
  const nulls = count(header, 2, "number of nulls");
  count(header, 3, "number of rows");
  const cursor = new Cursor(page);
  const definitionBytes = count(header, 5, "length of definition levels");
  const repetitionLevels = cursor.take(count(header, 6, "length of repetition levels"));
  const definitionLevels = cursor.take(definitionBytes);
  if (nulls > number) throw new Error(`a page says that ${String(nulls)} of its ${String(number)} values are null`);
  if (repetition > 0) checkRuns(repetitionLevels, repetition, number);
  if (definition > 0) checkRuns(definitionLevels, definition, number);
  return number;
}

/** Runs of the RLE and bit-packing hybrid (Apache Parquet format, Encodings.md) that hold so many values; repeated ones not many more. */
function checkRuns(bytes: Uint8Array, most: number, number: number): void {
  const width = 32 - Math.clz32(most);
  const cursor = new Cursor(bytes);
  for (let seen = 0; seen < number; ) {
    const header = cursor.varint();
    const half = Math.floor(header / 2);
    if (header % 2 === 1) {
      // A bit-packed run may be padded, and the last one may leave out the bytes of its padding.
      cursor.skip(Math.min(cursor.left, half * width));
      seen += half * 8;
    } else {
      if (half > number - seen + 64) throw new Error(`a run of ${String(half)} levels stands where ${String(number - seen)} are left`);
      cursor.skip(Math.ceil(width / 8));
      seen += half;
    }
  }
}

function count(header: Struct, field: number, what: string): number {
  const value = header.get(field);
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`a page header has no right ${what}`);
}

/** Reads Thrift's compact protocol, never past the end. */
class Cursor {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  take(length: number): Uint8Array {
    this.skip(length);
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  skip(length: number): void {
    if (length > this.left) throw new Error(`${String(length)} bytes are needed where ${String(this.left)} are left`);
    this.#at += length;
  }

  byte(): number {
    return this.take(1)[0] ?? 0;
  }

  /** Unsigned; exact up to 2^53. */
  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new Error("a number in a page header does not end");
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  struct(depth: number): Struct {
    if (depth > 8) throw new Error("a page header is nested too deep");
    const fields = new Map<number, number | Struct>();
    for (let id = 0; ; ) {
      const head = this.byte();
      if ((head & 15) === 0) return fields;
      id = head >> 4 === 0 ? this.zigzag() : id + (head >> 4);
      const value = this.#value(head & 15, depth);
      if (value !== undefined) fields.set(id, value);
    }
  }

  #value(type: number, depth: number): number | Struct | undefined {
    switch (type) {
      case 1:
      case 2:
        return 2 - type;
      case 3:
        return this.byte();
      case 4:
      case 5:
      case 6:
        return this.zigzag();
      case 7:
        return void this.skip(8);
      case 8:
        return void this.skip(this.varint());
      case 9:
      case 10:
        return void this.#list(depth);
      case 12:
        return this.struct(depth + 1);
      default:
        throw new Error(`a page header has a field of the unknown type ${String(type)}`);
    }
  }

  #list(depth: number): void {
    const head = this.byte();
    const length = head >> 4 === 15 ? this.varint() : head >> 4;
    if (length > this.left) throw new Error("a list in a page header is longer than the page");
    for (let index = 0; index < length; index += 1) {
      if ((head & 15) <= 2) this.byte();
      else this.#value(head & 15, depth + 1);
    }
  }
}
