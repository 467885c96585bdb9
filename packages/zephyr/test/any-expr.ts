import fc from "fast-check";
import { col, type Expr, lit } from "../src/expr/expr.js";

const texts = ["", "a", "ab", "b", "é", "\u{FFFD}", "\u{1F600}"];
const bigints = [-(2n ** 60n), -1n, 0n, 3n, 2n ** 53n + 1n];
const numbers = [-2.5, -1, 0, 0.5, 3, 2 ** 53];

/** Rows of `{ n: number | null, big: bigint | null, text: string | null, flag: boolean | null, meta: { x: number | null } | null }`; numbers may be NaN. */
export const anyRow: fc.Arbitrary<Readonly<Record<string, unknown>>> = fc.record({
  n: fc.constantFrom(null, NaN, ...numbers),
  big: fc.constantFrom(null, ...bigints),
  text: fc.constantFrom(null, ...texts),
  flag: fc.constantFrom(null, true, false),
  meta: fc.constantFrom(null, ...[null, ...numbers].map((x) => ({ x }))),
});

/** Numbers of a row, texts, and truths: expressions that are never an error for {@link anyRow}. */
const { truth } = fc.letrec<{ number: Expr; text: Expr; truth: Expr }>((tie) => ({
  number: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(col("n"), col("big"), col("meta").field("x")),
    fc.constantFrom(...numbers, ...bigints).map((value) => lit(value)),
    fc.tuple(fc.constantFrom(col("n"), col("meta").field("x")), fc.constantFrom("add" as const, "sub" as const, "mul" as const), fc.constantFrom(...numbers)).map(([left, operator, right]) => left[operator](right)),
  ),
  text: fc.oneof(fc.constant(col("text")), fc.constantFrom(...texts).map((value) => lit(value))),
  truth: fc.oneof(
    { maxDepth: 3 },
    fc.tuple(tie("number"), fc.constantFrom("eq" as const, "ne" as const, "lt" as const, "le" as const, "gt" as const, "ge" as const), tie("number")).map(([left, operator, right]) => left[operator](right)),
    fc.tuple(tie("text"), fc.constantFrom("eq" as const, "ne" as const, "lt" as const, "le" as const, "gt" as const, "ge" as const), tie("text")).map(([left, operator, right]) => left[operator](right)),
    fc.constant(col("flag")),
    fc.subarray(texts).map((values) => col("text").isIn(values)),
    fc.subarray(numbers).map((values) => col("n").isIn(values)),
    fc.constantFrom(col("n"), col("text"), col("flag"), col("meta").field("x")).map((of) => of.isNull()),
    tie("truth").map((of) => of.not()),
    fc.tuple(tie("truth"), tie("truth")).map(([left, right]) => left.and(right)),
    fc.tuple(tie("truth"), tie("truth")).map(([left, right]) => left.or(right)),
  ),
}));

/** Expressions that give true, false or null for {@link anyRow}. */
export const anyExpr: fc.Arbitrary<Expr> = truth;
