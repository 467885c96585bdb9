import type { ParquetScalar } from "../parquet/types.js";
import { ColumnInference, type Progress, type Sighting, type ValueClass } from "./inference.js";

/** A {@link ColumnInference} as JSON. */
export interface ColumnNote {
  /** What the values are, and the first one. */
  readonly values?: readonly [valueClass: ValueClass, first: Sighting];
  /** The first number that is no whole one. */
  readonly fraction?: Sighting;
  /** The ends of whole numbers, in digits. */
  readonly least?: readonly [digits: string, at: Sighting];
  readonly greatest?: readonly [digits: string, at: Sighting];
  /** Kinds of typed arrays. */
  readonly typed?: readonly (readonly [scalar: ParquetScalar, at: Sighting])[];
  /** A number that came from no typed array. */
  readonly plain?: Sighting;
  readonly items?: ColumnNote;
  readonly keys?: ColumnNote;
  readonly fields?: readonly (readonly [name: string, field: ColumnNote])[];
}

/** What a column's inference has found, as JSON. */
export function noteOf(column: ColumnInference): ColumnNote {
  const { valueClass, first, fraction, extremes, typed, plain, items, keys, fields } = column;
  return {
    ...(valueClass === undefined || first === undefined ? {} : { values: [valueClass, first] }),
    ...(fraction === undefined ? {} : { fraction }),
    ...(extremes === undefined ? {} : { least: [String(extremes.least), extremes.leastAt], greatest: [String(extremes.greatest), extremes.greatestAt] }),
    ...(typed.size === 0 ? {} : { typed: [...typed] }),
    ...(plain === undefined ? {} : { plain }),
    ...(items === undefined ? {} : { items: noteOf(items) }),
    ...(keys === undefined ? {} : { keys: noteOf(keys) }),
    ...(fields.size === 0 ? {} : { fields: [...fields].map(([name, field]) => [name, noteOf(field)] as const) }),
  };
}

/**
 * Adds what another inference has found.
 *
 * @throws MarinError ZEPHYR_SCHEMA_CONFLICT
 */
export function absorbNote(column: ColumnInference, note: ColumnNote, progress: Progress): void {
  const { values, fraction, least, greatest, typed = [], plain, items, keys, fields = [] } = note;
  const there = (sighting: Sighting): Sighting => ({ ...sighting, file: progress.file });
  if (values !== undefined) {
    const [valueClass, first] = values;
    const other = new ColumnInference(column.at);
    if (column.valueClass !== undefined && column.valueClass !== valueClass) absorbNote(other, note, progress);
    column.enter(valueClass, other.typeName(), there(first), progress);
  }
  if (least !== undefined && greatest !== undefined) column.extend(wholeOf(least[0]), wholeOf(greatest[0]), there(least[1]), there(greatest[1]), progress);
  if (fraction !== undefined) column.enterFraction(there(fraction), progress);
  for (const [scalar, at] of typed) column.enterOrigin(scalar, there(at), progress);
  if (plain !== undefined) column.enterOrigin("plain", there(plain), progress);
  if (items !== undefined) absorbNote((column.items ??= new ColumnInference(`${column.at}${column.valueClass === "map" ? ".value" : "[]"}`)), items, progress);
  if (keys !== undefined) absorbNote((column.keys ??= new ColumnInference(`${column.at}.key`)), keys, progress);
  for (const [name, field] of fields) absorbNote(column.field(name, progress), field, progress);
}

function wholeOf(digits: string): number | bigint {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}
