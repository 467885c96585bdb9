import { LeafCursor, rowReader } from "./assemble.js";
import type { ParquetReadRequest, RowGroupPart } from "./codec.js";
import { isText, valuesOf } from "./decode.js";
import { badColumn, fetchRanges, type ParquetFile, requireCodecs } from "./file.js";
import type { ByteRange, SchemaNode } from "./format.js";
import { type PagePlace, parseOffsetIndex } from "./page-index.js";
import { decodePages, type LeafColumn } from "./pages.js";
import { typeOf } from "./schema.js";
import type { ParquetRecord, ParquetType, ParquetValue } from "./types.js";

/** The records of parts of a file, one batch a part. */
export async function* readParts(file: ParquetFile, { columns, parts, signal }: ParquetReadRequest): AsyncGenerator<ParquetRecord[]> {
  const names = columns.map(({ element }) => element.name);
  for await (const part of parts) {
    signal?.throwIfAborted();
    yield recordsOf(names, await readColumns(file, part, columns), part.end - part.start);
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
  const leaves = await readLeaves(file, part, columns);
  return columns.map((column) => {
    try {
      return columnValues(column, leaves, part.end - part.start);
    } catch (cause) {
      throw badColumn(file, part.group, column.firstLeaf, cause);
    }
  });
}

/** A leaf's values, and how many rows stand before the first one wanted. */
interface ReadLeaf {
  readonly node: SchemaNode;
  readonly column: LeafColumn;
  readonly before: number;
  readonly rows: number;
}

/** The leaves of columns in a part of a row group, by their place in the schema; those of other columns are missing. */
async function readLeaves(file: ParquetFile, part: RowGroupPart, columns: readonly SchemaNode[]): Promise<ReadonlyMap<number, ReadLeaf>> {
  const wanted = columns.flatMap(({ firstLeaf, leaves }) => Array.from({ length: leaves }, (_, index) => firstLeaf + index));
  for (const leaf of wanted) requireCodecs(file, part.group, leaf);
  const plans = await planLeaves(file, part, wanted);
  const bytes = await fetchRanges(file.source, plans.flatMap(({ ranges }) => ranges));
  let next = 0;
  return new Map(
    plans.map(({ leaf, ranges, firstRow, endRow, isWhole }) => {
      const parts = bytes.slice(next, (next += ranges.length));
      const node = file.metadata.leaves[leaf] as SchemaNode;
      const chunk = file.metadata.groups[part.group]?.columns[leaf];
      if (chunk === undefined) throw badColumn(file, part.group, leaf, new Error("it is not there"));
      try {
        const column = decodePages(parts, chunk, node, isText(leafType(node)), isWhole ? chunk.values : undefined);
        return [leaf, { node, column, before: part.start - firstRow, rows: endRow - firstRow }] as const;
      } catch (cause) {
        throw badColumn(file, part.group, leaf, cause);
      }
    }),
  );
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

function leafType(leaf: SchemaNode): ParquetType {
  return typeOf({ ...leaf, element: { ...leaf.element, repetition: "REQUIRED" } });
}

function columnValues(column: SchemaNode, leaves: ReadonlyMap<number, ReadLeaf>, rows: number): ArrayLike<ParquetValue> {
  const only = leaves.get(column.firstLeaf);
  if (only !== undefined && column.children.length === 0 && column.repetition === 0) return flatValues(only, rows);
  const cursors: LeafCursor[] = [];
  const below = Array.from({ length: column.leaves }, (_, index) => {
    const leaf = leaves.get(column.firstLeaf + index);
    if (leaf === undefined) throw new Error("a part of it is missing");
    const { values, ...levels } = leaf.column;
    const cursor = new LeafCursor(leaf.node, levels, valuesOf(values, leafType(leaf.node)));
    cursor.skipRows(leaf.before);
    cursors[column.firstLeaf + index] = cursor;
    return { cursor, after: leaf.rows - leaf.before - rows };
  });
  const read = rowReader(column, cursors);
  const values = new Array<ParquetValue>(rows);
  for (let row = 0; row < rows; row += 1) values[row] = read();
  for (const { cursor, after } of below) {
    cursor.skipRows(after);
    if (!cursor.ended) throw new Error(`it does not hold as many values as rows, which are ${String(rows)}`);
  }
  return values;
}

function flatValues({ node, column: { definition, values, entries }, before, rows: held }: ReadLeaf, rows: number): ArrayLike<ParquetValue> {
  if (entries !== held) throw new Error(`it holds ${String(entries)} values, and its rows are ${String(held)}`);
  const converted = valuesOf(values, leafType(node));
  const isAll = definition === undefined || converted.length === entries;
  if (isAll && before === 0 && rows === held) return converted;
  const result = new Array<ParquetValue>(rows);
  let value = 0;
  for (let entry = 0; entry < before + rows; entry += 1) {
    const there = isAll || definition[entry] === node.definition;
    if (entry >= before) result[entry - before] = there ? (converted[value] as ParquetValue) : null;
    if (there) value += 1;
  }
  return result;
}

