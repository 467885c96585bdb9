import { crc32 } from "node:zlib";
import { compress, codecOf } from "./compression.js";
import { type Dictionary, dictionaryOf } from "./dictionary.js";
import { codecNames, encodingNames, physicalTypes, type SchemaNode } from "./format.js";
import { bitWidth, writeRuns } from "./levels.js";
import type { ShreddedLeaf } from "./shred.js";
import { PageBuffer, type StoredForm } from "./stored-form.js";
import { type ThriftField, type ThriftFields, thriftBytes } from "./thrift.js";
import type { ParquetCompression } from "./types.js";

/** How pages are made. */
export interface PageOptions {
  readonly compression: ParquetCompression;
  /** Default: the compression's usual one. */
  readonly compressionLevel: number | undefined;
  /** Version of the pages' headers. */
  readonly pageVersion: 1 | 2;
  /** Most rows in a page. */
  readonly pageRows: number;
  /** A page ends when its values take so many bytes. */
  readonly pageBytes: number;
}

/** A column of a row group, encoded. */
export interface EncodedChunk {
  /** Its pages, one after the other. */
  readonly parts: readonly Uint8Array[];
  /** Their bytes. */
  readonly packed: number;
  /** Their bytes unpacked, headers included. */
  readonly unpacked: number;
  /** What the table of contents says of it, when it begins at a place of the file. */
  metadata(start: number): ThriftFields;
  /** Where its pages lie, and their bounds; of columns with several pages. */
  indexes(start: number): { readonly offsets: Uint8Array; readonly bounds: Uint8Array | undefined } | undefined;
}

/** A column to encode. */
export interface Leaf {
  readonly node: SchemaNode;
  readonly form: StoredForm;
}

interface Bounds {
  readonly min: unknown;
  readonly max: unknown;
}

interface WrittenPage {
  readonly at: number;
  readonly size: number;
  readonly firstRow: number;
  readonly entries: number;
  readonly values: number;
  readonly bounds: Bounds | undefined;
}

const encodingOf = (name: (typeof encodingNames)[number]): number => encodingNames.indexOf(name);
const [PLAIN, RLE, PLAIN_DICTIONARY, RLE_DICTIONARY] = (["PLAIN", "RLE", "PLAIN_DICTIONARY", "RLE_DICTIONARY"] as const).map(encodingOf) as [number, number, number, number];

/** Shared by all pages: each is packed, and so copied, before the next begins. */
const scratch = new PageBuffer();

/** Encodes a column of a row group. */
export function encodeChunk({ node, form }: Leaf, column: ShreddedLeaf, options: PageOptions): EncodedChunk {
  const parts: Uint8Array[] = [];
  const pages: WrittenPage[] = [];
  let [at, unpacked] = [0, 0];
  const put = (header: ThriftFields, body: Uint8Array, length: number): void => {
    const head = thriftBytes(header);
    parts.push(head, body);
    at += head.length + body.length;
    unpacked += head.length + length;
  };
  const dictionary = dictionaryOf(column.values, form);
  if (dictionary !== undefined) put(...dictionaryPage(dictionary, form, options));
  const dataAt = at;
  let rows = 0;
  for (const page of pagesOf(column, node, form, dictionary !== undefined, options)) {
    const start = at;
    put(...dataPage(page, { node, form, column, dictionary, options }));
    pages.push({ at: start, size: at - start, firstRow: rows, entries: page.entryEnd - page.entryStart, values: page.valueEnd - page.valueStart, bounds: boundsOf(column.values, page.valueStart, page.valueEnd, form) });
    rows += page.rows;
  }
  const { bounds, nulls } = wholeBounds(pages, form);
  const encodings = dictionary === undefined ? [PLAIN, RLE] : [PLAIN, RLE, options.pageVersion === 1 ? PLAIN_DICTIONARY : RLE_DICTIONARY];
  return {
    parts,
    packed: at,
    unpacked,
    metadata: (start) => [
      [1, { i32: physicalTypes.indexOf(node.element.physical ?? "BOOLEAN") }],
      [2, { list: "i32", items: encodings }],
      [3, { list: "binary", items: node.path }],
      [4, { i32: codecNames.indexOf(codecOf[options.compression]) }],
      [5, { i64: column.entries }],
      [6, { i64: unpacked }],
      [7, { i64: at }],
      [9, { i64: start + dataAt }],
      [11, dictionary === undefined ? undefined : { i64: start }],
      [12, { struct: statistics(bounds, nulls, form) }],
    ],
    indexes: (start) => (pages.length < 2 ? undefined : { offsets: offsetIndex(pages, start), bounds: columnIndex(pages, form) }),
  };
}

interface PageRange {
  readonly rows: number;
  readonly entryStart: number;
  readonly entryEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** Where pages end: at rows, before they have too many of them or too many bytes. */
function* pagesOf({ definition, repetition, values, entries }: ShreddedLeaf, node: SchemaNode, form: StoredForm, places: boolean, { pageRows, pageBytes }: PageOptions): Generator<PageRange> {
  let [entry, value] = [0, 0];
  while (entry < entries) {
    const [entryStart, valueStart] = [entry, value];
    let [rows, bytes] = [0, 0];
    while (entry < entries && rows < pageRows && bytes < pageBytes) {
      do {
        if (definition === undefined || definition[entry] === node.definition) {
          bytes += places ? 2 : form.size(values[value]);
          value += 1;
        }
        entry += 1;
      } while (repetition !== undefined && entry < entries && (repetition[entry] ?? 0) > 0);
      rows += 1;
    }
    yield { rows, entryStart, entryEnd: entry, valueStart, valueEnd: value };
  }
}

type EncodedPage = [header: ThriftFields, body: Uint8Array, length: number];

function dictionaryPage({ values }: Dictionary, form: StoredForm, options: PageOptions): EncodedPage {
  scratch.at = 0;
  form.plain(values, 0, values.length, scratch);
  const { at: length } = scratch;
  const body = packed(options);
  const header: ThriftFields = [
    [1, { i32: values.length }],
    [2, { i32: options.pageVersion === 1 ? PLAIN_DICTIONARY : PLAIN }],
  ];
  return [pageHeader(2, length, body, [7, { struct: header }]), body, length];
}

function dataPage(
  { rows, entryStart, entryEnd, valueStart, valueEnd }: PageRange,
  { node, form, column, dictionary, options }: Leaf & { readonly column: ShreddedLeaf; readonly dictionary: Dictionary | undefined; readonly options: PageOptions },
): EncodedPage {
  const { definition, repetition, values } = column;
  const levels = (of: ArrayLike<number> | undefined, most: number): Uint8Array | undefined => (of === undefined ? undefined : writeRuns(part(of, entryStart, entryEnd), bitWidth(most)));
  const definitionLevels = levels(definition, node.definition);
  const repetitionLevels = levels(repetition, node.repetition);
  const encode = (): void => {
    if (dictionary === undefined) return form.plain(values, valueStart, valueEnd, scratch);
    const width = bitWidth(dictionary.values.length - 1);
    scratch.put(Uint8Array.of(width));
    scratch.put(writeRuns(dictionary.places.subarray(valueStart, valueEnd), width));
  };
  const count = entryEnd - entryStart;
  scratch.at = 0;
  if (options.pageVersion === 1) {
    for (const runs of [repetitionLevels, definitionLevels]) {
      if (runs === undefined) continue;
      scratch.put(uint32(runs.length));
      scratch.put(runs);
    }
    encode();
    const { at: length } = scratch;
    const body = packed(options);
    const header: ThriftFields = [
      [1, { i32: count }],
      [2, { i32: dictionary === undefined ? PLAIN : PLAIN_DICTIONARY }],
      [3, { i32: RLE }],
      [4, { i32: RLE }],
    ];
    return [pageHeader(0, length, body, [5, { struct: header }]), body, length];
  }
  if (valueEnd > valueStart) encode();
  const { at: length } = scratch;
  const levelBytes = Buffer.concat([repetitionLevels ?? new Uint8Array(), definitionLevels ?? new Uint8Array()]);
  // Nothing, packed, is something to some readers and an error to others.
  const isPacked = length > 0 && options.compression !== "uncompressed";
  const body = length === 0 ? new Uint8Array() : packed(options);
  const page = levelBytes.length === 0 ? body : Buffer.concat([levelBytes, body]);
  const header: ThriftFields = [
    [1, { i32: count }],
    [2, { i32: count - (valueEnd - valueStart) }],
    [3, { i32: rows }],
    [4, { i32: dictionary === undefined ? PLAIN : RLE_DICTIONARY }],
    [5, { i32: definitionLevels?.length ?? 0 }],
    [6, { i32: repetitionLevels?.length ?? 0 }],
    [7, { bool: isPacked }],
  ];
  return [pageHeader(3, levelBytes.length + length, page, [8, { struct: header }]), page, levelBytes.length + length];
}

/** What stands in the buffer, packed; a copy in any case. */
function packed({ compression, compressionLevel }: PageOptions): Uint8Array {
  return compress(scratch.written(), compression, compressionLevel);
}

function pageHeader(type: number, length: number, body: Uint8Array, own: readonly [number, ThriftField]): ThriftFields {
  return [
    [1, { i32: type }],
    [2, { i32: length }],
    [3, { i32: body.length }],
    // Signed, as Thrift's numbers are.
    [4, { i32: crc32(body) | 0 }],
    own,
  ];
}

function uint32(value: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function part(levels: ArrayLike<number>, start: number, end: number): ArrayLike<number> {
  return levels instanceof Uint8Array ? levels.subarray(start, end) : (levels as readonly number[]).slice(start, end);
}

function boundsOf(values: readonly unknown[], start: number, end: number, { compare }: StoredForm): Bounds | undefined {
  if (compare === undefined) return undefined;
  let [min, max]: [unknown, unknown] = [undefined, undefined];
  for (let index = start; index < end; index += 1) {
    const value = values[index];
    // NaN has no place in the order.
    if (Number.isNaN(value)) continue;
    if (min === undefined || compare(value, min) < 0) min = value;
    if (max === undefined || compare(value, max) > 0) max = value;
  }
  return min === undefined ? undefined : { min, max };
}

function wholeBounds(pages: readonly WrittenPage[], { compare }: StoredForm): { readonly bounds: Bounds | undefined; readonly nulls: number } {
  let bounds: Bounds | undefined;
  let nulls = 0;
  for (const page of pages) {
    nulls += page.entries - page.values;
    if (page.bounds === undefined || compare === undefined) continue;
    const { min, max } = page.bounds;
    bounds = bounds === undefined ? page.bounds : { min: compare(min, bounds.min) < 0 ? min : bounds.min, max: compare(max, bounds.max) > 0 ? max : bounds.max };
  }
  return { bounds, nulls };
}

function statistics(bounds: Bounds | undefined, nulls: number, form: StoredForm): ThriftFields {
  const least = bounds === undefined ? undefined : form.bound(bounds.min, false);
  const greatest = bounds === undefined ? undefined : form.bound(bounds.max, true);
  return [
    [3, { i64: nulls }],
    [5, greatest === undefined ? undefined : { binary: greatest.bytes }],
    [6, least === undefined ? undefined : { binary: least.bytes }],
    [7, greatest === undefined ? undefined : { bool: greatest.exact }],
    [8, least === undefined ? undefined : { bool: least.exact }],
  ];
}

function offsetIndex(pages: readonly WrittenPage[], start: number): Uint8Array {
  const items = pages.map(({ at, size, firstRow }): ThriftFields => [
    [1, { i64: start + at }],
    [2, { i32: size }],
    [3, { i64: firstRow }],
  ]);
  return thriftBytes([[1, { list: "struct", items }]]);
}

/** The bounds of all pages; undefined where one that holds values has none. */
function columnIndex(pages: readonly WrittenPage[], form: StoredForm): Uint8Array | undefined {
  const [least, greatest]: [Uint8Array[], Uint8Array[]] = [[], []];
  for (const { bounds, values } of pages) {
    const [min, max] = bounds === undefined ? [] : [form.bound(bounds.min, false), form.bound(bounds.max, true)];
    if (values > 0 && (min === undefined || max === undefined)) return undefined;
    least.push(min?.bytes ?? new Uint8Array());
    greatest.push(max?.bytes ?? new Uint8Array());
  }
  return thriftBytes([
    [1, { list: "bool", items: pages.map(({ values }) => values === 0) }],
    [2, { list: "binary", items: least }],
    [3, { list: "binary", items: greatest }],
    [4, { i32: boundaryOrder(pages, form) }],
    [5, { list: "i64", items: pages.map(({ entries, values }) => entries - values) }],
  ]);
}

/** 1 where bounds ascend from page to page, 2 where they descend, else 0. */
function boundaryOrder(pages: readonly WrittenPage[], { compare }: StoredForm): number {
  const bounds = pages.flatMap((page) => (page.bounds === undefined ? [] : [page.bounds]));
  const follows = (sign: number): boolean =>
    compare !== undefined &&
    bounds.every(({ min, max }, index) => {
      const before = bounds[index - 1];
      return before === undefined || (sign * compare(min, before.min) >= 0 && sign * compare(max, before.max) >= 0);
    });
  return follows(1) ? 1 : follows(-1) ? 2 : 0;
}
