import type { ByteRange, ColumnChunk, RowGroup, StoredStatistics } from "./format.js";
import { count, list, structs } from "./metadata.js";
import { ThriftReader } from "./thrift.js";

/** A page of a column. */
export interface PagePlace {
  /** Header and values. */
  readonly range: ByteRange;
  /** Its first row in the row group. */
  readonly firstRow: number;
  /** The row behind its last. */
  readonly endRow: number;
}

/**
 * Where the pages of a column lie (Apache Parquet format, PageIndex.md).
 *
 * @throws Error where places or rows cannot be right
 */
export function parseOffsetIndex(bytes: Uint8Array, chunk: ColumnChunk, { rows }: RowGroup): readonly PagePlace[] {
  const places = structs(new ThriftReader(bytes).struct(), 1, "places of pages").map((place) => {
    const start = count(place, 1, "place of a page");
    return { range: { start, end: start + count(place, 2, "size of a page") }, firstRow: count(place, 3, "first row of a page") };
  });
  return places.map(({ range, firstRow }, index) => {
    const endRow = places[index + 1]?.firstRow ?? rows;
    const isRight = range.start >= chunk.range.start && range.end <= chunk.range.end && firstRow <= endRow && (index > 0 || firstRow === 0);
    if (!isRight) throw new Error(`page ${String(index)} of column ${chunk.path.join(".")} stands outside of its column, or its rows are not in order`);
    return { range, firstRow, endRow };
  });
}

/**
 * The bounds of a column's pages.
 *
 * @param pages - how many pages it has
 * @throws Error where another number of pages stands there
 */
export function parseColumnIndex(bytes: Uint8Array, pages: number): readonly StoredStatistics[] {
  const index = new ThriftReader(bytes).struct();
  const [empty, least, greatest] = [list(index, 1, "empty pages"), list(index, 2, "least values of pages"), list(index, 3, "greatest values of pages")];
  if ([empty, least, greatest].some(({ length }) => length !== pages)) throw new Error(`bounds stand there for ${String(empty.length)} of ${String(pages)} pages`);
  const nulls = index.has(5) ? list(index, 5, "nulls of pages") : [];
  return empty.map((isEmpty, page) => {
    const [min, max, missing] = [least[page], greatest[page], nulls[page]];
    return {
      ...(isEmpty === 1 || !(min instanceof Uint8Array) ? {} : { min }),
      ...(isEmpty === 1 || !(max instanceof Uint8Array) ? {} : { max }),
      ...(typeof missing === "number" ? { nulls: missing } : {}),
    };
  });
}

