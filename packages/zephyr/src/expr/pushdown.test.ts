import { expect, test } from "vitest";
import { col, type Expr } from "./expr.js";
import { formatExpr } from "./format.js";
import { pushdown, type PushableOperation } from "./pushdown.js";

const filter = (expr: Expr): PushableOperation => ({ kind: "filter", expr: expr.node });
const select = (...columns: string[]): PushableOperation => ({ kind: "select", columns });
const opaque: PushableOperation = { kind: "map", work: () => 1 } as PushableOperation;

test.each<[PushableOperation[], readonly string[] | undefined, string | undefined]>([
  [[], undefined, undefined],
  [[select("a", "b")], ["a", "b"], undefined],
  [[filter(col("c").gt(1)), select("a")], ["a", "c"], "c > 1"],
  [[select("a", "b"), filter(col("a").gt(1)), select("b")], ["b", "a"], "a > 1"],
  [[filter(col("a").gt(1)), filter(col("b").isNull())], undefined, "a > 1 and b is null"],
  [[filter(col("a").gt(1)), opaque, select("a"), filter(col("b").gt(1))], undefined, "a > 1"],
  [[select("a"), opaque], ["a"], undefined],
  [[opaque, select("a")], undefined, undefined],
  [[{ kind: "filter", work: () => true } as PushableOperation, select("a")], undefined, undefined],
  [[{ kind: "takePerShard", count: 1 } as PushableOperation, filter(col("a").gt(1))], undefined, undefined],
  [[{ kind: "count" }], [], undefined],
  [[filter(col("a").gt(1)), { kind: "count" }], ["a"], "a > 1"],
])("%o", (operations, columns, expected) => {
  const pushed = pushdown(operations);
  expect(pushed.columns).toEqual(columns);
  expect(pushed.filter && formatExpr(pushed.filter)).toBe(expected);
});

test("a column that a select before left out is an error, not null", () => {
  expect(() => pushdown([select("a"), filter(col("b").isNull())])).toThrow(expect.objectContaining({ code: "ZEPHYR_NO_COLUMN", data: { column: "b", columns: ["a"] } }));
  expect(() => pushdown([select("a"), select("a", "b")])).toThrow('select("a", "b") names the column "b"');
});
