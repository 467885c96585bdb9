import { MarinError } from "@marin/iris";
import { asBuffer } from "../as-buffer.js";
import { formatExpr } from "./format.js";
import { kindOf, orderOf, type ValueKind } from "./order.js";
import type { ArithmeticOperator, CompareOperator, ExprLiteral, ExprNode } from "./types.js";

/** What an expression gives for a record. */
export type Evaluate = (row: unknown) => unknown;

/**
 * An expression as a function of a record. Lists and structs come out as they are; what is missing comes out as null.
 *
 * @returns the function; it throws MarinError ZEPHYR_BAD_EXPRESSION naming the part of the expression and the kinds of
 * values that do not go together
 */
export function compileExpr(node: ExprNode): Evaluate {
  switch (node.kind) {
    case "column":
      return columnOf(node);
    case "field":
      return fieldOf(node);
    case "literal": {
      const { value } = node;
      return () => value;
    }
    case "compare":
      return comparison(node);
    case "arithmetic":
      return calculation(node);
    case "and":
    case "or":
      return conjunction(node);
    case "not": {
      const of = truthOf(node.of, node);
      return (row) => {
        const value = of(row);
        return value === null ? null : !value;
      };
    }
    case "isNull": {
      const of = compileExpr(node.of);
      return (row) => of(row) === null;
    }
    case "isIn":
      return membership(node);
  }
}

/** The outcome of a comparison whose sides have this order. */
export function holds(operator: CompareOperator, order: number): boolean {
  switch (operator) {
    case "==":
      return order === 0;
    case "!=":
      return order !== 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
  }
}

function columnOf(node: Extract<ExprNode, { kind: "column" }>): Evaluate {
  const { name } = node;
  return (row) => {
    if (typeof row !== "object" || row === null) throw unfit(node, `it needs records, and found ${kindOf(row)}`);
    return Object.hasOwn(row, name) ? ((row as Record<string, unknown>)[name] ?? null) : null;
  };
}

function fieldOf(node: Extract<ExprNode, { kind: "field" }>): Evaluate {
  const { name } = node;
  const of = compileExpr(node.of);
  return (row) => {
    const value = of(row);
    if (value === null) return null;
    if (value instanceof Map) return (value as ReadonlyMap<unknown, unknown>).get(name) ?? null;
    if (typeof value !== "object" || kindOf(value) !== "record") throw unfit(node, `only structs and maps have fields, and this is ${kindOf(value)}`);
    return Object.hasOwn(value, name) ? ((value as Record<string, unknown>)[name] ?? null) : null;
  };
}

function comparison(node: Extract<ExprNode, { kind: "compare" }>): Evaluate {
  const { operator } = node;
  const left = compileExpr(node.left);
  const right = compileExpr(node.right);
  return (row) => {
    const a = left(row);
    const b = right(row);
    if (a === null || b === null) return null;
    const order = orderOf(a, b);
    if (order === undefined) throw unfit(node, `${kindOf(a)} and ${kindOf(b)} cannot be compared`);
    return holds(operator, order);
  };
}

function membership(node: Extract<ExprNode, { kind: "isIn" }>): Evaluate {
  const of = compileExpr(node.of);
  const kind: ValueKind = node.values.length === 0 ? "null" : kindOf(node.values[0]);
  const keys = new Set(node.values.map(keyOf));
  return (row) => {
    const value = of(row);
    if (value === null) return null;
    if (kind === "null") return false;
    if (kindOf(value) !== kind) throw unfit(node, `${kindOf(value)} and ${kind} cannot be compared`);
    return keys.has(keyOf(value as ExprLiteral));
  };
}

/** Equal for equal values of one kind, except that NaN, which equals nothing, gets a key that no value has. */
function keyOf(value: ExprLiteral): unknown {
  if (typeof value === "number") return Number.isNaN(value) ? {} : Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value) : value + 0;
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? {} : value.getTime();
  return value instanceof Uint8Array ? asBuffer(value).toString("latin1") : value;
}

function conjunction(node: Extract<ExprNode, { kind: "and" | "or" }>): Evaluate {
  const left = truthOf(node.left, node);
  const right = truthOf(node.right, node);
  // What decides alone: false for and, true for or.
  const deciding = node.kind === "or";
  return (row) => {
    const a = left(row);
    if (a === deciding) return deciding;
    const b = right(row);
    if (b === deciding) return deciding;
    return a === null || b === null ? null : !deciding;
  };
}

function truthOf(node: ExprNode, around: ExprNode): (row: unknown) => boolean | null {
  const of = compileExpr(node);
  return (row) => {
    const value = of(row);
    if (value === null || typeof value === "boolean") return value;
    throw unfit(around, `${formatExpr(node)} is ${kindOf(value)}, and true or false is needed`);
  };
}

function calculation(node: Extract<ExprNode, { kind: "arithmetic" }>): Evaluate {
  const { operator } = node;
  const left = compileExpr(node.left);
  const right = compileExpr(node.right);
  // A whole number that is written into the expression is of the other side's kind: col("id").add(1).
  const adaptsLeft = node.left.kind === "literal";
  const adaptsRight = node.right.kind === "literal";
  return (row) => {
    let a = left(row);
    let b = right(row);
    if (a === null || b === null) return null;
    if (typeof a === "number" && typeof b === "number") return calculate(operator, a, b);
    if (adaptsLeft && typeof b === "bigint" && Number.isSafeInteger(a)) a = BigInt(a as number);
    if (adaptsRight && typeof a === "bigint" && Number.isSafeInteger(b)) b = BigInt(b as number);
    if (typeof a === "bigint" && typeof b === "bigint") {
      if (b === 0n && (operator === "/" || operator === "%")) throw unfit(node, "a bigint is divided by 0");
      return calculateBigints(operator, a, b);
    }
    if (kindOf(a) !== "number" || kindOf(b) !== "number") throw unfit(node, `${kindOf(a)} and ${kindOf(b)} cannot be calculated with`);
    return calculate(operator, exactNumber(node, a as number | bigint), exactNumber(node, b as number | bigint));
  };
}

function exactNumber(node: ExprNode, value: number | bigint): number {
  const number = Number(value);
  if (typeof value === "number" || Number.isSafeInteger(number)) return number;
  throw unfit(node, `the bigint ${String(value)} meets a number, and cannot become one exactly`);
}

function calculate(operator: ArithmeticOperator, a: number, b: number): number {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return a / b;
    case "%":
      return a % b;
  }
}

function calculateBigints(operator: ArithmeticOperator, a: bigint, b: bigint): bigint {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return a / b;
    case "%":
      return a % b;
  }
}

function unfit(node: ExprNode, reason: string): MarinError {
  const shown = formatExpr(node);
  return new MarinError("ZEPHYR_BAD_EXPRESSION", `The expression ${shown} cannot be evaluated: ${reason}.`, { data: { expression: shown } });
}
