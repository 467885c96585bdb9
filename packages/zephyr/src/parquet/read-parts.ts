import { LeafCursor, rowReader } from "./assemble.js";
import type { ParquetReadRequest, RowGroupPart } from "./codec.js";
import { isText, valuesOf } from "./decode.js";
import { badColumn, fetchRanges, type ParquetFile, requireCodecs } from "./file.js";
import type { ByteRange, SchemaNode } from "./format.js";
import { type PagePlace, parseOffsetIndex } from "./page-index.js";
import { decodePages, joinPages, type Page } from "./pages.js";
import { typeOf } from "./schema.js";
import type { ParquetRecord, ParquetType, ParquetValue } from "./types.js";

/** Rows made at once: few enough that their text is gone before the next, and many enough for the work around them. */
const batchRows = 1000;

/** The records of parts of a file, in batches. */
export async function* readParts(file: ParquetFile, { columns, parts, signal }: ParquetReadRequest): AsyncGenerator<ParquetRecord[]> {
  const names = columns.map(({ element }) => element.name);
  for await (const part of parts) {
    signal?.throwIfAborted();
    const streams = await openColumns(file, part, columns);
    const rows = part.end - part.start;
    for (let row = 0; row < rows; row += batchRows) {
      const count = Math.min(batchRows, rows - row);
      yield recordsOf(names, streams.map((stream) => stream.take(count)), count);
    }
    for (const stream of streams) stream.end();
  }
}

function recordsOf(names: readonly string[], columns: readonly ArrayLike<ParquetValue>[], rows: number): ParquetRecord[] {
  const records = new Array<Record<string, ParquetValue>>(rows);
  // Setting this name would change what the record inherits from.
  const special = names.includes("__proto__");
  for (let row = 0; row < rows; row += 1) {
    const record: Record<string, ParquetValue> = {};
    for (let column = 0; column < names.length; column += 1) {
      const value = (columns[column] as ArrayLike<ParquetValue>)[row] as ParquetValue;
      if (special) Object.defineProperty(record, names[column] as string, { value, enumerable: true, writable: true, configurable: true });
      else record[names[column] as string] = value;
    }
    records[row] = record;
  }
  return records;
}

/** The values of columns in a part of a row group, one for each row. */
export async function readColumns(file: ParquetFile, part: RowGroupPart, columns: readonly SchemaNode[]): Promise<ArrayLike<ParquetValue>[]> {
  return (await openColumns(file, part, columns)).map((stream) => {
    const values = stream.take(part.end - part.start);
    stream.end();
    return values;
  });
}

/** A column's values, row after row. */
interface ColumnStream {
  /** Those of the next rows. */
  take(rows: number): ArrayLike<ParquetValue>;
  /** Checks that there is nothing more than the rows that were taken. */
  end(): void;
}

/** Fetches columns in a part of a row group. Their errors name file, place and column. */
async function openColumns(file: ParquetFile, part: RowGroupPart, columns: readonly SchemaNode[]): Promise<ColumnStream[]> {
  const wanted = columns.flatMap(({ firstLeaf, leaves }) => Array.from({ length: leaves }, (_, index) => firstLeaf + index));
  for (const leaf of wanted) requireCodecs(file, part.group, leaf);
  const plans = await planLeaves(file, part, wanted);
  const bytes = await fetchRanges(file.source, plans.flatMap(({ ranges }) => ranges));
  let next = 0;
  const leaves = new Map(plans.map((plan) => [plan.leaf, openLeaf(file, part, plan, bytes.slice(next, (next += plan.ranges.length)))]));
  return columns.map((column) => {
    const named = <T>(work: () => T): T => {
      try {
        return work();
      } catch (cause) {
        throw badColumn(file, part.group, column.firstLeaf, cause);
      }
    };
    const below = Array.from({ length: column.leaves }, (_, index) => leaves.get(column.firstLeaf + index) as OpenLeaf);
    const stream = named(() => (column.children.length === 0 && column.repetition === 0 ? new FlatStream(below[0] as OpenLeaf) : nestedStream(column, below, part.end - part.start)));
    return { take: (rows) => named(() => stream.take(rows)), end: () => named(() => stream.end()) };
  });
}

/** A leaf whose pages are here. */
interface OpenLeaf {
  readonly node: SchemaNode;
  readonly type: ParquetType;
  readonly pages: Generator<Page, undefined>;
  /** Rows of its pages before the first one wanted. */
  readonly before: number;
  /** Rows of its pages behind the last one wanted. */
  readonly after: number;
}

function openLeaf(file: ParquetFile, part: RowGroupPart, { leaf, firstRow, endRow, isWhole }: LeafPlan, bytes: readonly Uint8Array[]): OpenLeaf {
  const node = file.metadata.leaves[leaf];
  const chunk = file.metadata.groups[part.group]?.columns[leaf];
  if (node === undefined || chunk === undefined) throw badColumn(file, part.group, leaf, new Error("it is not there"));
  const type = typeOf({ ...node, element: { ...node.element, repetition: "REQUIRED" } });
  return { node, type, pages: decodePages(bytes, chunk, node, isText(type), isWhole ? chunk.values : undefined), before: part.start - firstRow, after: endRow - part.end };
}

/** A column without anything nested: pages are decoded when their rows are asked for. */
class FlatStream implements ColumnStream {
  readonly #leaf: OpenLeaf;
  #page: Page | undefined;
  #entry = 0;

  constructor(leaf: OpenLeaf) {
    this.#leaf = leaf;
    if (leaf.before > 0) this.take(leaf.before);
  }

  take(rows: number): ArrayLike<ParquetValue> {
    const { node, type } = this.#leaf;
    let values: ParquetValue[] | undefined;
    for (let filled = 0; filled < rows; ) {
      const page = this.#current();
      if (page === undefined) throw new Error(`it holds fewer values than rows: ${String(rows - filled)} are missing`);
      const count = Math.min(rows - filled, page.entries - this.#entry);
      const levels = page.definition?.subarray(this.#entry, this.#entry + count);
      this.#entry += count;
      const there = levels === undefined ? count : countOf(levels, node.definition);
      const found = valuesOf(page.values.take(there), type);
      if (count === rows && there === count) return found;
      values ??= new Array<ParquetValue>(rows);
      if (levels === undefined) for (let index = 0; index < count; index += 1) values[filled + index] = found[index] as ParquetValue;
      else for (let index = 0, value = 0; index < count; index += 1) values[filled + index] = levels[index] === node.definition ? (found[value++] as ParquetValue) : null;
      filled += count;
    }
    return values ?? [];
  }

  end(): void {
    if (this.#leaf.after === 0 && this.#current() !== undefined) throw new Error("it holds more values than rows");
  }

  #current(): Page | undefined {
    while (this.#page === undefined || this.#entry === this.#page.entries) {
      const next = this.#leaf.pages.next();
      if (next.done === true) return undefined;
      this.#page = next.value;
      this.#entry = 0;
    }
    return this.#page;
  }
}

function countOf(levels: ArrayLike<number>, wanted: number): number {
  let found = 0;
  for (let index = 0; index < levels.length; index += 1) if (levels[index] === wanted) found += 1;
  return found;
}

/** Lists, maps and structs: their leaves are decoded at once, and put together row by row. */
function nestedStream(column: SchemaNode, leaves: readonly OpenLeaf[], rows: number): ColumnStream {
  const cursors: LeafCursor[] = [];
  for (const [index, { node, type, pages, before }] of leaves.entries()) {
    const { values, ...levels } = joinPages(pages);
    const cursor = new LeafCursor(node, levels, valuesOf(values, type));
    cursor.skipRows(before);
    cursors[column.firstLeaf + index] = cursor;
  }
  const read = rowReader(column, cursors);
  return {
    take: (count) => Array.from({ length: count }, read),
    end: () => {
      for (const [index, { after }] of leaves.entries()) {
        const cursor = cursors[column.firstLeaf + index];
        cursor?.skipRows(after);
        if (cursor?.ended !== true) throw new Error(`it does not hold as many values as rows, which are ${String(rows)}`);
      }
    },
  };
}

interface LeafPlan {
  readonly leaf: number;
  readonly ranges: readonly ByteRange[];
  readonly firstRow: number;
  readonly endRow: number;
  readonly isWhole: boolean;
}

/** Where the pages of the rows lie: of a part of a row group only those, where the file tells the places of pages. */
async function planLeaves(file: ParquetFile, part: RowGroupPart, wanted: readonly number[]): Promise<LeafPlan[]> {
  const group = file.metadata.groups[part.group];
  if (group === undefined) return [];
  const isWhole = part.start === 0 && part.end === group.rows;
  const places = isWhole ? new Map<number, readonly PagePlace[]>() : await readPlaces(file, part.group, wanted);
  return wanted.map((leaf) => {
    const range = group.columns[leaf]?.range ?? { start: 0, end: 0 };
    const pages = places.get(leaf);
    const chosen = pages?.filter(({ firstRow, endRow }) => firstRow < part.end && endRow > part.start) ?? [];
    const [first, last] = [chosen[0], chosen.at(-1)];
    if (pages === undefined || first === undefined || last === undefined) return { leaf, ranges: [range], firstRow: 0, endRow: group.rows, isWhole: true };
    const dictionary = { start: range.start, end: pages[0]?.range.start ?? range.start };
    const data = { start: first.range.start, end: last.range.end };
    return { leaf, ranges: dictionary.end > dictionary.start ? [dictionary, data] : [data], firstRow: first.firstRow, endRow: last.endRow, isWhole: false };
  });
}

/** The places of pages, of those columns for which the file tells them. */
export async function readPlaces(file: ParquetFile, group: number, leaves: readonly number[]): Promise<ReadonlyMap<number, readonly PagePlace[]>> {
  const rowGroup = file.metadata.groups[group];
  const told = leaves.flatMap((leaf) => {
    const chunk = rowGroup?.columns[leaf];
    return chunk?.offsetIndex === undefined ? [] : [{ leaf, chunk, index: chunk.offsetIndex }];
  });
  const bytes = await fetchRanges(file.source, told.map(({ index }) => index));
  return new Map(
    told.map(({ leaf, chunk }, at) => {
      try {
        return [leaf, parseOffsetIndex(bytes[at] as Uint8Array, chunk, rowGroup as NonNullable<typeof rowGroup>)] as const;
      } catch (cause) {
        throw badColumn(file, group, leaf, cause);
      }
    }),
  );
}
