import { isUtf8 } from "node:buffer";
import { asBuffer } from "../as-buffer.js";
import { isText, valuesOf } from "./decode.js";
import type { SchemaNode, StoredStatistics } from "./format.js";
import { typeOf } from "./schema.js";
import type { ParquetScalar, ParquetType, ParquetValue } from "./types.js";
import { readPlain } from "./values.js";

/** What a file says of a column's values in a run of rows. */
export interface ParquetStatistics {
  /** No value is below; it need not be one of them, since long text is shortened. Absent where the file does not say. */
  readonly min?: ParquetValue;
  /** No value is above; NaN has no place in the order and may still be there. */
  readonly max?: ParquetValue;
  /** Values that are null. Absent where the file does not say. */
  readonly nulls?: number;
  /** Rows, nulls among them. */
  readonly rows: number;
}

/** Types whose values compare as those of JavaScript do, text by code points. */
const ordered: ReadonlySet<ParquetScalar> = new Set([
  "boolean",
  "int8",
  "int16",
  "int32",
  "int64",
  "uint8",
  "uint16",
  "uint32",
  "uint64",
  "float16",
  "float32",
  "float64",
  "string",
  "enum",
  "json",
  "bytes",
  "uuid",
  "date",
  "time-millis",
  "time-micros",
  "time-nanos",
  "timestamp-millis",
  "timestamp-micros",
  "timestamp-nanos",
]);

/**
 * The leaves that have statistics of use, by dotted name: none inside of lists and maps, whose values are not the rows', and
 * none whose dotted name is also another's.
 */
export function statisticsLeaves(leaves: readonly SchemaNode[]): ReadonlyMap<string, SchemaNode> {
  const found = new Map<string, SchemaNode | undefined>();
  for (const leaf of leaves) {
    if (leaf.repetition > 0) continue;
    const name = leaf.path.join(".");
    found.set(name, found.has(name) ? undefined : leaf);
  }
  return new Map([...found].filter((entry): entry is [string, SchemaNode] => entry[1] !== undefined));
}

/** Statistics in the form of the reader's values. Bounds that cannot be right, or have no order of use, are left out. */
export function statisticsOf(leaf: SchemaNode, stored: StoredStatistics, rows: number): ParquetStatistics {
  const type = typeOf({ ...leaf, element: { ...leaf.element, repetition: "REQUIRED" } });
  const bounds = typeof type === "string" && ordered.has(type) && leaf.element.physical !== "INT96" ? boundsOf(leaf, type, stored) : {};
  return { ...bounds, ...(stored.nulls === undefined || stored.nulls < 0 ? {} : { nulls: stored.nulls }), rows };
}

function boundsOf(leaf: SchemaNode, type: ParquetType, { min, max }: StoredStatistics): Pick<ParquetStatistics, "min" | "max"> {
  const [least, greatest] = [valueOf(leaf, type, min), valueOf(leaf, type, max)];
  // Written by who does not leave NaN out: it says nothing of the other values.
  if (Number.isNaN(least) || Number.isNaN(greatest)) return {};
  // Zeros of both signs are equal, and which one stands there says nothing.
  return { ...(least === undefined ? {} : { min: least === 0 ? -0 : least }), ...(greatest === undefined ? {} : { max: Object.is(greatest, -0) ? 0 : greatest }) };
}

function valueOf(leaf: SchemaNode, type: ParquetType, bytes: Uint8Array | undefined): ParquetValue | undefined {
  if (bytes === undefined) return undefined;
  const text = isText(type);
  if (leaf.element.physical === "BYTE_ARRAY") return text ? (isUtf8(bytes) ? asBuffer(bytes).toString("utf8") : undefined) : Uint8Array.from(bytes);
  try {
    return valuesOf(readPlain(asBuffer(bytes), 1, { element: leaf.element, text }), type)[0];
  } catch {
    // Too short for its type, or a date beyond all dates.
    return undefined;
  }
}
