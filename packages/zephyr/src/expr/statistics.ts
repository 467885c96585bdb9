import { compileExpr, holds } from "./evaluate.js";
import { orderOf } from "./order.js";
import { pathOf, pathsOf } from "./paths.js";
import type { ExprNode } from "./types.js";

/** What is known of the values of a column in some rows. */
export interface ValueStatistics {
  /** No value is smaller. Absent: not known. */
  readonly min?: unknown;
  /** No value is greater. Absent: not known. */
  readonly max?: unknown;
  /** How many are null. Absent: not known. */
  readonly nulls?: number;
  /** How many rows there are. */
  readonly rows: number;
}

/** Which rows a reader may pass over, because an expression cannot be true there. */
export interface Pruning {
  /** The columns whose statistics are looked at; a field in a struct has its path: "meta.lang". */
  readonly columns: readonly string[];
  /** Whether the expression may be true for some of the rows that have these statistics. */
  mayMatch(statistics: ReadonlyMap<string, ValueStatistics>): boolean;
}

/** An expression as advice for a reader. It never passes over a row for which the expression is true. */
export function pruningOf(node: ExprNode): Pruning {
  const columns = [...new Set(pathsOf(node).map((path) => path.join(".")))].sort();
  return {
    columns,
    mayMatch: (statistics) => {
      const { value, bounds } = outcomes(node, statistics);
      return value && (bounds === undefined || bounds.max !== false);
    },
  };
}

/** What an expression may give in some rows. */
interface Outcomes {
  /** Whether null is possible. */
  readonly null: boolean;
  /** Whether a value is possible. */
  readonly value: boolean;
  /** Whether a value without order, NaN, is possible. */
  readonly unordered: boolean;
  /** Between what the ordered values lie; undefined: anything. */
  readonly bounds: { readonly min: unknown; readonly max: unknown } | undefined;
}

const anything: Outcomes = { null: true, value: true, unordered: true, bounds: undefined };

/** Which of true, false and null are possible, as outcomes: false comes before true. */
function truth(possible: { readonly true: boolean; readonly false: boolean; readonly null: boolean }): Outcomes {
  const value = possible.true || possible.false;
  return { null: possible.null, value, unordered: false, bounds: { min: !possible.false, max: possible.true } };
}

function outcomes(node: ExprNode, statistics: ReadonlyMap<string, ValueStatistics>): Outcomes {
  if (pathsOf(node).length === 0) return constant(node);
  switch (node.kind) {
    case "column":
    case "field":
      return stored(statistics.get(pathOf(node)?.join(".") ?? ""));
    case "compare":
      return compared(node, outcomes(node.left, statistics), outcomes(node.right, statistics));
    case "isIn":
      return member(node.values, outcomes(node.of, statistics));
    case "isNull": {
      const of = outcomes(node.of, statistics);
      return truth({ true: of.null, false: of.value, null: false });
    }
    case "not": {
      const of = possibleTruth(outcomes(node.of, statistics));
      return truth({ true: of.false, false: of.true, null: of.null });
    }
    case "and": {
      const [a, b] = [possibleTruth(outcomes(node.left, statistics)), possibleTruth(outcomes(node.right, statistics))];
      return truth({ true: a.true && b.true, false: a.false || b.false, null: (a.null && (b.null || b.true)) || (b.null && a.true) });
    }
    case "or": {
      const [a, b] = [possibleTruth(outcomes(node.left, statistics)), possibleTruth(outcomes(node.right, statistics))];
      return truth({ true: a.true || b.true, false: a.false && b.false, null: (a.null && (b.null || b.false)) || (b.null && a.false) });
    }
    // Bounds of sums and products could be told too; filters seldom need them.
    case "arithmetic":
    case "literal":
      return anything;
  }
}

/** A part that looks at no column. */
function constant(node: ExprNode): Outcomes {
  let value: unknown;
  try {
    value = compileExpr(node)(undefined);
  } catch {
    // The rows themselves are to tell what is wrong with it.
    return anything;
  }
  if (value === null) return { null: true, value: false, unordered: false, bounds: undefined };
  const order = orderOf(value, value);
  return { null: false, value: true, unordered: order !== 0, bounds: order === 0 ? { min: value, max: value } : undefined };
}

function stored(statistics: ValueStatistics | undefined): Outcomes {
  if (statistics === undefined) return anything;
  const { min, max, nulls, rows } = statistics;
  const known = min !== undefined && max !== undefined && orderOf(min, max) !== undefined;
  return {
    null: nulls !== 0,
    value: nulls === undefined || nulls < rows,
    // Statistics of floats pass over NaN.
    unordered: !known || typeof min === "number",
    bounds: known ? { min, max } : undefined,
  };
}

function compared({ operator }: Extract<ExprNode, { kind: "compare" }>, left: Outcomes, right: Outcomes): Outcomes {
  const isNull = left.null || right.null;
  if (!left.value || !right.value) return truth({ true: false, false: false, null: isNull });
  const orders = possibleOrders(left, right);
  return truth({ true: orders.some((order) => holds(operator, order)), false: orders.some((order) => !holds(operator, order)), null: isNull });
}

/** Every order that a value of the one side and one of the other may have. */
function possibleOrders(left: Outcomes, right: Outcomes): number[] {
  const all = [-1, 0, 1, NaN];
  if (left.bounds === undefined || right.bounds === undefined) return all;
  const least = orderOf(left.bounds.min, right.bounds.max);
  const most = orderOf(left.bounds.max, right.bounds.min);
  // Different kinds: evaluating it is an error, and an error must be seen.
  if (least === undefined || most === undefined) return all;
  return [...(least < 0 ? [-1] : []), ...(least <= 0 && most >= 0 ? [0] : []), ...(most > 0 ? [1] : []), ...(left.unordered || right.unordered ? [NaN] : [])];
}

function member(values: readonly unknown[], of: Outcomes): Outcomes {
  if (!of.value) return truth({ true: false, false: false, null: of.null });
  const { bounds } = of;
  if (bounds === undefined) return truth({ true: true, false: true, null: of.null });
  const inside = values.map((value) => [orderOf(bounds.min, value), orderOf(bounds.max, value)] as const);
  const hit = inside.some(([low, high]) => low === undefined || high === undefined || (low <= 0 && high >= 0));
  const always = !of.unordered && inside.some(([low, high]) => low === 0 && high === 0);
  return truth({ true: hit, false: !always, null: of.null });
}

function possibleTruth({ null: isNull, value, bounds }: Outcomes): { readonly true: boolean; readonly false: boolean; readonly null: boolean } {
  const known = bounds !== undefined && typeof bounds.min === "boolean" && typeof bounds.max === "boolean";
  return { true: value && (!known || bounds.max === true), false: value && (!known || bounds.min === false), null: isNull };
}
