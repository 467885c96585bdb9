import { compareText } from "../utf8.js";

/** The kinds of values that expressions tell apart; values of one kind can be compared. */
export type ValueKind = "null" | "boolean" | "number" | "text" | "date" | "bytes" | "list" | "record";

/** The kind of a value; numbers and bigints are one kind. */
export function kindOf(value: unknown): ValueKind {
  switch (typeof value) {
    case "undefined":
      return "null";
    case "boolean":
      return "boolean";
    case "number":
    case "bigint":
      return "number";
    case "string":
      return "text";
    default:
      if (value === null) return "null";
      if (value instanceof Date) return "date";
      if (value instanceof Uint8Array) return "bytes";
      return Array.isArray(value) || ArrayBuffer.isView(value) ? "list" : "record";
  }
}

/**
 * The order of two values of one kind: below, at or above 0; NaN where they have none (NaN, a Date that is no date);
 * undefined where the kinds differ or have no order.
 */
export function orderOf(a: unknown, b: unknown): number | undefined {
  const kind = kindOf(a);
  if (kind !== kindOf(b)) return undefined;
  switch (kind) {
    case "number":
      return orderOfNumbers(a as number | bigint, b as number | bigint);
    case "text":
      return compareText(a as string, b as string);
    case "boolean":
      return Number(a) - Number(b);
    case "date":
      return orderOfNumbers((a as Date).getTime(), (b as Date).getTime());
    case "bytes":
      return Buffer.compare(a as Uint8Array, b as Uint8Array);
    default:
      return undefined;
  }
}

/** JavaScript compares a number with a bigint exactly. */
function orderOfNumbers(a: number | bigint, b: number | bigint): number {
  if (a < b) return -1;
  if (a > b) return 1;
  return a >= b ? 0 : NaN;
}
