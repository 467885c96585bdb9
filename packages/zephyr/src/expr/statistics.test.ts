import fc from "fast-check";
import { expect, test } from "vitest";
import { anyExpr, anyRow } from "../../test/any-expr.js";
import { compileExpr } from "./evaluate.js";
import { col, type Expr } from "./expr.js";
import { formatExpr } from "./format.js";
import { orderOf } from "./order.js";
import { pruningOf, type ValueStatistics } from "./statistics.js";

/** What a writer of Parquet tells of rows: NaN is passed over, texts may be shortened. */
function statisticsOf(rows: readonly Readonly<Record<string, unknown>>[], shorten: boolean): Map<string, ValueStatistics> {
  const columns: Readonly<Record<string, (row: Readonly<Record<string, unknown>>) => unknown>> = {
    n: (row) => row["n"],
    big: (row) => row["big"],
    text: (row) => row["text"],
    flag: (row) => row["flag"],
    "meta.x": (row) => (row["meta"] as { readonly x?: unknown } | null)?.x,
  };
  return new Map(
    Object.entries(columns).map(([name, read]) => {
      const present = rows.map(read).filter((value) => value !== null && value !== undefined);
      const ordered = present.filter((value) => orderOf(value, value) === 0).sort((a, b) => orderOf(a, b) ?? 0);
      const [first, last] = [ordered[0], ordered.at(-1)];
      const cut = shorten && typeof first === "string" && typeof last === "string";
      return [
        name,
        {
          rows: rows.length,
          nulls: rows.length - present.length,
          ...(ordered.length === 0 ? {} : { min: cut ? [...first].slice(0, 1).join("") : first, max: cut ? `${[...last].slice(0, 1).join("")}\u{10FFFF}` : last }),
        },
      ];
    }),
  );
}

test("no row is passed over for which the expression is true", () => {
  let pruned = 0;
  fc.assert(
    fc.property(anyExpr, fc.array(anyRow, { minLength: 1, maxLength: 4 }), fc.boolean(), (expr, rows, shorten) => {
      const evaluate = compileExpr(expr.node);
      const matches = rows.some((row) => evaluate(row) === true);
      const may = pruningOf(expr.node).mayMatch(statisticsOf(rows, shorten));
      if (!may) pruned += 1;
      expect(may || !matches, formatExpr(expr.node)).toBe(true);
    }),
    { numRuns: 800 },
  );
  // It is of use: many of the random expressions are ruled out.
  expect(pruned).toBeGreaterThan(40);
});

const known = new Map<string, ValueStatistics>([
  ["n", { min: 10, max: 20, nulls: 0, rows: 100 }],
  ["id", { min: 5n, max: 5n, nulls: 0, rows: 100 }],
  ["text", { min: "b", max: "d", nulls: 3, rows: 100 }],
  ["empty", { nulls: 100, rows: 100 }],
  ["meta.lang", { min: "en", max: "fr", rows: 100 }],
]);

test.each<[Expr, boolean]>([
  [col("n").lt(10), false],
  [col("n").le(10), true],
  [col("n").gt(20n), false],
  [col("n").eq(9.5), false],
  [col("n").isIn([9, 21]), false],
  [col("n").isIn([9, 15]), true],
  [col("n").lt(10).not(), true],
  [col("n").isNull(), false],
  [col("id").ne(5n), false],
  [col("id").ne(5), false],
  [col("id").isIn([5]).not(), false],
  [col("text").ge("e"), false],
  [col("text").isNull(), true],
  [col("text").isNull().and(col("n").gt(30)), false],
  [col("text").gt("x").or(col("n").gt(30)), false],
  [col("text").gt("x").or(col("n").gt(15)), true],
  [col("empty").eq(1), false],
  [col("empty").isNull().not(), false],
  [col("meta").field("lang").lt("en"), false],
  [col("unknown").gt(0), true],
  [col("n").lt(col("id")), false],
  [col("n").lt("a"), true],
  [col("n").add(1).lt(0), true],
])("%o: %s", (expr, may) => {
  expect(pruningOf(expr.node).mayMatch(known)).toBe(may);
});

test("what looks at no column decides alone", () => {
  expect(pruningOf(col("n").gt(1).and(false).node).mayMatch(new Map())).toBe(false);
  expect(pruningOf(col("n").gt(1).node)).toMatchObject({ columns: ["n"] });
  expect(pruningOf(col("meta").field("lang").eq("en").node)).toMatchObject({ columns: ["meta.lang"] });
});
