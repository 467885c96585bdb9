import { crc32 } from "node:zlib";
import { asBuffer } from "../as-buffer.js";
import { decompress } from "./compression.js";
import { type ColumnChunk, encodingNames, type SchemaNode } from "./format.js";
import { bitWidth, type Levels, levelArray, readRuns } from "./levels.js";
import { count, number, optionalNumber, optionalStruct } from "./metadata.js";
import { ThriftReader, type ThriftStruct } from "./thrift.js";
import { readPlain, readValues, type StoredValues, UnknownEncoding, type ValueLayout, type ValueRun } from "./values.js";

/** A part of a column: its levels and values, as they are stored. */
interface Entries<Values> {
  /** How much of its path is there, for each entry; undefined where all of it always is. */
  readonly definition: Levels | undefined;
  /** At which level each entry repeats; undefined outside of lists. */
  readonly repetition: Levels | undefined;
  /** The values that are there. */
  readonly values: Values;
  /** Entries: values, nulls and empty lists. */
  readonly entries: number;
}

/** A page of values. */
export type Page = Entries<ValueRun>;

/** Several pages as one. */
export type LeafColumn = Entries<StoredValues>;

const LEVELS_BY_RUNS = encodingNames.indexOf("RLE");

/**
 * Decodes pages of a column that stand one after the other, each when it is asked for. A page whose header has a checksum is
 * compared with it.
 *
 * @param parts - whole pages, the dictionary's first
 * @param chunk - what the table of contents says of the column
 * @param leaf - its place in the schema
 * @param text - whether its values are text
 * @param entries - how many entries the pages must hold; undefined where a choice of pages is read
 * @throws Error where headers, sizes, levels or values cannot be right; UnknownEncoding
 */
export function* decodePages(parts: readonly Uint8Array[], chunk: ColumnChunk, leaf: SchemaNode, text: boolean, entries: number | undefined): Generator<Page, undefined> {
  const layout: ValueLayout = { element: leaf.element, text };
  let dictionary: StoredValues | undefined;
  let seen = 0;
  for (const part of parts) {
    // Some writers leave a byte or two behind the last page.
    for (const reader = new ThriftReader(part); reader.left > 2 && seen !== entries; ) {
      const header = reader.struct();
      const packed = reader.take(count(header, 3, "size of a page"));
      const length = count(header, 2, "unpacked size of a page");
      if (length > chunk.unpackedBytes) throw new Error(`a page unpacks to ${String(length)} bytes, and its whole column to ${String(chunk.unpackedBytes)}`);
      requireChecksum(header, packed);
      const [first, dictionaryHeader, second] = [5, 7, 8].map((id) => optionalStruct(header, id));
      if (dictionaryHeader !== undefined) {
        dictionary = readPlain(decompress(chunk.codec, packed, length), count(dictionaryHeader, 1, "number of values in a dictionary"), layout);
        continue;
      }
      const pageHeader = first ?? second;
      // Index pages hold no values.
      if (pageHeader === undefined) continue;
      const held = count(pageHeader, 1, "number of values of a page");
      if (entries !== undefined && held > entries - seen) throw new Error(`a page says that it holds ${String(held)} values where ${String(entries - seen)} are left`);
      seen += held;
      const page = { header: pageHeader, packed, length, held, chunk, leaf, layout, dictionary };
      yield first === undefined ? secondPage(page) : firstPage(page);
    }
  }
  if (entries !== undefined && seen !== entries) throw new Error(`the pages of column ${chunk.path.join(".")} hold ${String(seen)} values, and the table of contents says ${String(entries)}`);
  return undefined;
}

interface StoredPage {
  readonly header: ThriftStruct;
  readonly packed: Uint8Array;
  readonly length: number;
  readonly held: number;
  readonly chunk: ColumnChunk;
  readonly leaf: SchemaNode;
  readonly layout: ValueLayout;
  readonly dictionary: StoredValues | undefined;
}

/** The checksum is of the page as it is stored (Apache Parquet format, README, "Checksumming"). */
function requireChecksum(header: ThriftStruct, packed: Uint8Array): void {
  const told = optionalNumber(header, 4);
  if (told === undefined) return;
  const found = crc32(packed);
  if (found !== told >>> 0) throw new Error(`a page's checksum is ${found.toString(16)}, and its header says ${(told >>> 0).toString(16)}: its bytes have changed`);
}

/** Pages of version 1 begin with their levels, each with its length, and are packed whole. */
function firstPage({ header, packed, length, held, chunk, leaf, layout, dictionary }: StoredPage): Page {
  const page = decompress(chunk.codec, packed, length);
  let at = 0;
  const levels = (most: number, encoding: number | undefined): Levels | undefined => {
    if (most === 0) return undefined;
    if (encoding !== undefined && encoding !== LEVELS_BY_RUNS) throw new UnknownEncoding(encoding);
    if (page.length - at < 4) throw new Error("a page ends in its levels");
    const end = at + 4 + page.readUInt32LE(at);
    if (end > page.length) throw new Error("a page ends in its levels");
    const out = levelArray(bitWidth(most), held);
    readRuns(page, at + 4, end, bitWidth(most), out);
    at = end;
    return out;
  };
  const repetition = levels(leaf.repetition, optionalNumber(header, 4));
  const definition = levels(leaf.definition, optionalNumber(header, 3));
  const there = definition === undefined ? held : present(definition, leaf.definition);
  return { repetition, definition, entries: held, values: readValues(number(header, 2, "encoding of a page"), page.subarray(at), there, layout, dictionary) };
}

/** Pages of version 2 tell the lengths of their levels in the header, and never pack them. */
function secondPage({ header, packed, length, held, chunk, leaf, layout, dictionary }: StoredPage): Page {
  const nulls = count(header, 2, "number of nulls of a page");
  const definitionBytes = count(header, 5, "length of definition levels");
  const repetitionBytes = count(header, 6, "length of repetition levels");
  const values = definitionBytes + repetitionBytes;
  if (values > packed.length || values > length) throw new Error("a page ends in its levels");
  const levels = (most: number, start: number, end: number): Levels | undefined => {
    if (most === 0) return undefined;
    const out = levelArray(bitWidth(most), held);
    readRuns(packed, start, end, bitWidth(most), out);
    return out;
  };
  const repetition = levels(leaf.repetition, 0, repetitionBytes);
  const definition = levels(leaf.definition, repetitionBytes, values);
  const there = definition === undefined ? held : present(definition, leaf.definition);
  if (held - there !== nulls) throw new Error(`a page says that ${String(nulls)} of its ${String(held)} values are null, and ${String(held - there)} are`);
  const body = packed.subarray(values);
  // Nothing, packed, is no stream of a codec.
  const isPacked = optionalNumber(header, 7) !== 0 && length > values;
  const page = isPacked ? decompress(chunk.codec, body, length - values) : asBuffer(body);
  return { repetition, definition, entries: held, values: readValues(number(header, 4, "encoding of a page"), page, there, layout, dictionary) };
}

/** How many entries are values. */
function present(definition: Levels, most: number): number {
  let values = 0;
  for (let index = 0; index < definition.length; index += 1) {
    const level = definition[index] as number;
    if (level === most) values += 1;
    else if (level > most) throw new Error(`a level is ${String(level)}, and ${String(most)} is the most`);
  }
  return values;
}

/** All pages as one. */
export function joinPages(all: Iterable<Page>): LeafColumn {
  const pages = Array.from(all, (page) => ({ ...page, values: page.values.take(page.values.length) }));
  const [only, second] = pages;
  if (only !== undefined && second === undefined) return only;
  const levels = (of: (page: LeafColumn) => Levels | undefined): Levels | undefined => {
    const parts = pages.map(of);
    const [first] = parts;
    return first === undefined ? undefined : (concatenated(parts as Levels[]) as Levels);
  };
  return {
    definition: levels(({ definition }) => definition),
    repetition: levels(({ repetition }) => repetition),
    values: concatenated(pages.map(({ values }) => values)) as StoredValues,
    entries: pages.reduce((sum, page) => sum + page.entries, 0),
  };
}

function concatenated(parts: readonly (StoredValues | Levels)[]): StoredValues | Levels {
  const [first] = parts;
  if (first === undefined) return [];
  if (Array.isArray(first)) return (parts as unknown[][]).flat() as string[];
  const whole = new (first.constructor as new (length: number) => { set(part: unknown, at: number): void })(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole as unknown as StoredValues;
}
