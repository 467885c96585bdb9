import type { RowGroupPart } from "./codec.js";
import { badColumn, fetchRanges, type ParquetFile } from "./file.js";
import type { ByteRange, SchemaNode } from "./format.js";
import { type PagePlace, parseColumnIndex } from "./page-index.js";
import { readPlaces } from "./read-parts.js";
import { type ParquetStatistics, statisticsLeaves, statisticsOf } from "./statistics.js";

/** Which rows need not be read. */
export interface ParquetPruning {
  /** The columns whose statistics are looked at, by dotted name; others, and those without statistics, are missing in the map. */
  readonly columns: readonly string[];
  /** Whether a run of rows with these statistics, by column, may hold one that is wanted. */
  mayMatch(statistics: ReadonlyMap<string, ParquetStatistics>): boolean;
}

/** The rows of a row group that are wanted, by what the file says of the row group and of its pages. */
export async function prune(file: ParquetFile, part: RowGroupPart, pruning: ParquetPruning): Promise<RowGroupPart[]> {
  const group = file.metadata.groups[part.group];
  if (group === undefined) return [];
  const named = statisticsLeaves(file.metadata.leaves);
  const looked = pruning.columns.flatMap((name) => {
    const leaf = named.get(name);
    return leaf === undefined ? [] : [{ name, leaf }];
  });
  const whole = new Map(
    looked.flatMap(({ name, leaf }) => {
      const stored = group.columns[leaf.firstLeaf]?.statistics;
      return stored === undefined ? [] : [[name, statisticsOf(leaf, stored, group.rows)] as const];
    }),
  );
  if (!pruning.mayMatch(whole)) return [];
  const pages = await pageStatistics(file, part.group, looked);
  if (pages.length === 0) return [part];
  const borders = [...new Set([part.start, part.end, ...pages.flatMap(({ places }) => places.map(({ firstRow }) => firstRow))])].filter((row) => row >= part.start && row <= part.end).sort((a, b) => a - b);
  const kept: { group: number; start: number; end: number }[] = [];
  const next = pages.map(() => 0);
  for (let index = 0; index + 1 < borders.length; index += 1) {
    const [start, end] = [borders[index] as number, borders[index + 1] as number];
    const statistics = new Map(whole);
    for (const [column, { name, places, bounds }] of pages.entries()) {
      let page = next[column] ?? 0;
      while ((places[page]?.endRow ?? Infinity) <= start) page += 1;
      next[column] = page;
      const found = bounds[page];
      if (found !== undefined) statistics.set(name, found);
    }
    if (!pruning.mayMatch(statistics)) continue;
    const last = kept.at(-1);
    if (last?.end === start) last.end = end;
    else kept.push({ group: part.group, start, end });
  }
  return kept;
}

interface PagesOfColumn {
  readonly name: string;
  readonly places: readonly PagePlace[];
  readonly bounds: readonly ParquetStatistics[];
}

async function pageStatistics(file: ParquetFile, group: number, looked: readonly { readonly name: string; readonly leaf: SchemaNode }[]): Promise<PagesOfColumn[]> {
  const told = looked.flatMap(({ name, leaf }) => {
    const index: ByteRange | undefined = file.metadata.groups[group]?.columns[leaf.firstLeaf]?.columnIndex;
    return index === undefined ? [] : [{ name, leaf, index }];
  });
  if (told.length === 0) return [];
  const [places, bytes] = await Promise.all([readPlaces(file, group, told.map(({ leaf }) => leaf.firstLeaf)), fetchRanges(file.source, told.map(({ index }) => index))]);
  return told.flatMap(({ name, leaf }, at) => {
    const own = places.get(leaf.firstLeaf);
    if (own === undefined) return [];
    try {
      const bounds = parseColumnIndex(bytes[at] as Uint8Array, own.length);
      return [{ name, places: own, bounds: bounds.map((stored, page) => statisticsOf(leaf, stored, (own[page]?.endRow ?? 0) - (own[page]?.firstRow ?? 0))) }];
    } catch (cause) {
      throw badColumn(file, group, leaf.firstLeaf, cause);
    }
  });
}
