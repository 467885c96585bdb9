import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { expect, test } from "vitest";
import { anyExpr, anyRow } from "../../test/any-expr.js";
import { compileExpr } from "./evaluate.js";
import { formatExpr } from "./format.js";
import type { ExprLiteral, ExprNode } from "./types.js";

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
    const rows = fc.sample(anyRow, { numRuns: 60, seed: 7 }).map((row) => (Number.isNaN(row["n"]) ? { ...row, n: null } : row));
    const expressions = fc.sample(anyExpr, { numRuns: 300, seed: 7 }).filter(({ node }) => !mixes(node));
    expect(expressions.length).toBeGreaterThan(100);
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
