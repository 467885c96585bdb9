import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { expect, test } from "vitest";
import { anyExpr, anyRow } from "../../test/any-expr.js";
import { compileExpr } from "./evaluate.js";
import { col, type Expr, isExpr, lit } from "./expr.js";
import { formatExpr } from "./format.js";
import { columnsOf, withKnown } from "./paths.js";
import type { ExprLiteral, ExprNode } from "./types.js";

const row = {
  id: 2n ** 60n,
  n: 3,
  half: 0.5,
  nan: NaN,
  text: "ü",
  yes: true,
  none: null,
  day: new Date(86_400_000),
  bytes: Uint8Array.of(1, 255),
  list: [1],
  meta: { lang: "en", "a b": { deep: 1 } },
  map: new Map([["k", 7]]),
  "a.b": 9,
};
const of = (expr: Expr): unknown => compileExpr(expr.node)(row);

test.each<[string, Expr, unknown]>([
  ["n == 3", col("n").eq(3), true],
  ["n != 3", col("n").ne(3), false],
  ["n < 4", col("n").lt(4), true],
  ["n <= 2", col("n").le(2), false],
  ["n > 2.5", col("n").gt(2.5), true],
  ["n >= 3n", col("n").ge(3n), true],
  ["id == 1152921504606846976n", col("id").eq(2n ** 60n), true],
  ["id > 1152921504606847000", col("id").gt(2 ** 60), false],
  ["id == 1152921504606846977n", col("id").eq(2n ** 60n + 1n), false],
  ["nan == null", col("nan").eq(null), null],
  ["nan == nan", col("nan").eq(col("nan")), false],
  ["nan != nan", col("nan").ne(col("nan")), true],
  ["nan < 1", col("nan").lt(1), false],
  ['text == "ü"', col("text").eq("ü"), true],
  ["day < 1970-01-03T00:00:00.000Z", col("day").lt(new Date(2 * 86_400_000)), true],
  ["bytes > 0x0180", col("bytes").gt(Uint8Array.of(1, 128)), true],
  ["yes > false", col("yes").gt(false), true],
  ["n + (half * 2)", col("n").add(col("half").mul(2)), 4],
  ["(n - 5) % 3", col("n").sub(5).mod(3), -2],
  ["n / 2", col("n").div(2), 1.5],
  ["id + 1", col("id").add(1), 2n ** 60n + 1n],
  ["5 - n", lit(5).sub(col("n")), 2],
  ["none + 1", col("none").add(1), null],
  ["none > 1", col("none").gt(1), null],
  ["not (none > 1)", col("none").gt(1).not(), null],
  ["not yes", col("yes").not(), false],
  ["yes and none", col("yes").and(col("none")), null],
  ["none and not yes", col("none").and(col("yes").not()), false],
  ["none or yes", col("none").or(col("yes")), true],
  ["none is null", col("none").isNull(), true],
  ["missing is null", col("missing").isNull(), true],
  ["n is null", col("n").isNull(), false],
  ['meta.lang in ["de", "en"]', col("meta").field("lang").isIn(["de", "en"]), true],
  ["none in [1]", col("none").isIn([1]), null],
  ["n in []", col("n").isIn([]), false],
  ["id in [1, 1152921504606846976n]", col("id").isIn([1, 2n ** 60n]), true],
  ["n in [3n]", col("n").isIn([3n]), true],
  ["nan in [NaN]", col("nan").isIn([NaN]), false],
  ["day in [1970-01-02T00:00:00.000Z]", col("day").isIn([new Date(86_400_000)]), true],
  ["bytes in [0x01ff]", col("bytes").isIn([Uint8Array.of(1, 255)]), true],
  ['meta."a b".deep == 1', col("meta").field("a b").field("deep").eq(1), true],
  ["meta.none.deep is null", col("meta").field("none").field("deep").isNull(), true],
  ["map.k == 7", col("map").field("k").eq(7), true],
  ['"a.b" == 9', col("a.b").eq(9), true],
  ["n > 1 and n < 5 and yes", col("n").gt(1).and(col("n").lt(5)).and(col("yes")), true],
  ["n > 5 or (n < 5 and yes)", col("n").gt(5).or(col("n").lt(5).and(col("yes"))), true],
  ["constructor is null", col("constructor").isNull(), true],
])("%s", (text, expr, value) => {
  expect(formatExpr(expr.node)).toBe(text);
  expect(of(expr)).toEqual(value);
  // Plain data: what is cloned means the same.
  expect(compileExpr(structuredClone(expr.node))(row)).toEqual(value);
});

test.each<[Expr, string]>([
  [col("text").gt(1), "text > 1 cannot be evaluated: text and number"],
  [col("list").eq("a"), "list and text"],
  [col("day").lt(0), "date and number"],
  [col("n").isIn(["a"]), "number and text"],
  [col("text").add("b"), "text and text cannot be calculated with"],
  [col("id").mul(0.5), "the bigint 1152921504606846976 meets a number"],
  [col("id").div(0), "divided by 0"],
  [col("n").and(true), "n is number, and true or false is needed"],
  [col("n").field("x"), "only structs and maps have fields, and this is number"],
  [col("list").field("length"), "only structs and maps have fields, and this is list"],
])("%o is refused for this record", (expr, message) => {
  expect(() => of(expr)).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_EXPRESSION", message: expect.stringContaining(message) as string }));
});

test("what needs records is refused for other items, and isIn for values of several kinds", () => {
  expect(() => compileExpr(col("a").eq(1).node)("text")).toThrow("it needs records, and found text");
  expect(() => col("a").isIn([1, "a"])).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_EXPRESSION" }));
  expect([isExpr(col("a")), isExpr(() => true)]).toEqual([true, false]);
});

test("columns are found, and known ones put in", () => {
  const { node } = col("b").gt(col("a").field("x")).or(col("b").isNull()).or(col("file").isIn(["x"]));
  expect(columnsOf(node)).toEqual(["a", "b", "file"]);
  expect(columnsOf(withKnown(node, new Map([["file", "y"]])))).toEqual(["a", "b"]);
});

// What SQL says of null and of order, by an implementation of SQL. NaN is left out: in DuckDB it equals itself.

function sql(node: ExprNode): string {
  switch (node.kind) {
    case "column":
      return node.name;
    case "field":
      return `${sql(node.of)}.${node.name}`;
    case "literal":
      return literal(node.value);
    case "compare":
      return `(${sql(node.left)} ${node.operator} ${sql(node.right)})`;
    case "arithmetic":
      return `(${sql(node.left)} ${node.operator} ${sql(node.right)})`;
    case "and":
    case "or":
      return `(${sql(node.left)} ${node.kind} ${sql(node.right)})`;
    case "not":
      return `(not ${sql(node.of)})`;
    case "isNull":
      return `(${sql(node.of)} is null)`;
    case "isIn":
      return node.values.length === 0 ? `(case when ${sql(node.of)} is null then null else false end)` : `(${sql(node.of)} in (${node.values.map(literal).join(", ")}))`;
  }
}

function literal(value: ExprLiteral): string {
  if (typeof value === "string") return `'${value}'`;
  if (typeof value === "number") return `${String(value)}::DOUBLE`;
  return typeof value === "bigint" ? `${String(value)}::BIGINT` : String(value);
}

/** Whether a bigint meets a number: DuckDB rounds the bigint then, and we do not. */
function mixes(node: ExprNode): boolean {
  if (node.kind === "compare") {
    const kinds = [node.left, node.right].map((side) => (side.kind === "column" && side.name === "big") || (side.kind === "literal" && typeof side.value === "bigint"));
    if (kinds[0] !== kinds[1]) return true;
  }
  if ("of" in node) return mixes(node.of);
  return "left" in node && (mixes(node.left) || mixes(node.right));
}

test("expressions give what SQL gives", async () => {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const duckdb = await instance.connect();
  try {
    const rows = fc.sample(anyRow, { numRuns: 40, seed: 7 }).map((row) => (Number.isNaN(row["n"]) ? { ...row, n: null } : row));
    const expressions = fc.sample(anyExpr, { numRuns: 200, seed: 7 }).filter(({ node }) => !mixes(node));
    expect(expressions.length).toBeGreaterThan(80);
    const values = rows.map(({ n, big, text, flag, meta }) => {
      const x = (meta as { readonly x: number | null } | null)?.x ?? null;
      const parts = [literal(n as ExprLiteral), literal(big as ExprLiteral), literal(text as ExprLiteral), literal(flag as ExprLiteral), meta === null ? "null" : `{x: ${literal(x)}}`];
      return `(${parts.join(", ")})`;
    });
    await duckdb.run("create table t (i integer, n double, big bigint, text varchar, flag boolean, meta struct(x double))");
    await duckdb.run(`insert into t values ${values.map((value, index) => `(${String(index)}, ${value.slice(1)}`).join(", ")}`);
    const reader = await duckdb.runAndReadAll(`select ${expressions.map(({ node }) => sql(node)).join(", ")} from t order by i`);
    const theirs = reader.getRows();
    for (const [column, { node }] of expressions.entries()) {
      const evaluate = compileExpr(node);
      expect(rows.map(evaluate), formatExpr(node)).toEqual(theirs.map((row) => row[column]));
    }
  } finally {
    duckdb.closeSync();
    instance.closeSync();
  }
});
