import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { createStorage, withLocalContext } from "@marin/iris";
import { expect, test, afterAll, beforeAll } from "vitest";
import { countingStorage, type CountedReads } from "../../test/counting-storage.js";
import { Dataset } from "../dataset.js";
import { writeParquet } from "../writers/parquet.js";
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

const groups = 100;
const groupRows = 50;
const rows = Array.from({ length: groups * groupRows }, (_, index) => ({
  id: BigInt(index),
  score: index % 10 === 0 ? null : index / 2,
  meta: { part: `p${String(Math.floor(index / 500)).padStart(2, "0")}` },
  // Nothing that could be packed.
  text: Array.from({ length: 10 }, (_part, part) => part).map((part) => createHash("sha512").update(`${String(index)} ${String(part)}`).digest("base64")).join(""),
}));
const schema = { id: "int64", score: { nullable: "float64" }, meta: { struct: { part: "string" } }, text: "string" } as const;

let directory: string;
/** 100 sorted row groups; one row group with pages of 50 rows; 100 row groups written by DuckDB. */
let [sorted, paged, theirs] = ["", "", ""];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-proof-"));
  [sorted, paged, theirs] = ["sorted.parquet", "paged.parquet", "theirs.parquet"].map((name) => join(directory, name)) as [string, string, string];
  await writeParquet(sorted, rows, { schema, rowGroupRows: groupRows });
  await writeParquet(paged, rows, { schema, rowGroupRows: 10_000, pageRows: 50 });
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const duckdb = await instance.connect();
  await duckdb.run(`copy (select range as id, sha256(range::varchar) as text from range(102400)) to '${theirs}' (format parquet, row_group_size 2048)`);
  duckdb.closeSync();
  instance.closeSync();
});
afterAll(() => rm(directory, { recursive: true }));

type Readable = Pick<Dataset<unknown>, "toArray">;

/** The share of a file's bytes that a dataset reads, and its records. */
async function reading(path: string, dataset: Readable): Promise<{ share: number; reads: CountedReads; records: unknown[] }> {
  const storage = createStorage();
  const { storage: counting, reads } = countingStorage(storage);
  const records = await withLocalContext({ storage: counting }, () => dataset.toArray());
  const total = (await storage.stat(path))?.bytes ?? 0;
  return { share: reads.bytes() / total, reads, records };
}

test("Pushdown proof: a selective filter on 100 sorted row groups reads less than 5 % of the bytes", async () => {
  for (const [expr, keep] of [
    [col("id").eq(1234), (row) => row.id === 1234n],
    [col("id").ge(4990n).and(col("score").isNull()), (row) => row.id >= 4990n && row.score === null],
    [col("score").gt(2000).and(col("score").lt(2010)), (row) => row.score !== null && row.score > 2000 && row.score < 2010],
    [col("id").isIn([7, 4000n]), (row) => row.id === 7n || row.id === 4000n],
    [col("id").gt(1_000_000), () => false],
  ] as [ReturnType<typeof col>, (row: (typeof rows)[number]) => boolean][]) {
    const { share, records } = await reading(sorted, Dataset.fromFiles(sorted).filter(expr));
    expect(records).toEqual(rows.filter(keep));
    expect(share).toBeLessThan(0.05);
  }
  const nested = await reading(sorted, Dataset.fromFiles(sorted).filter(col("meta").field("part").eq("p05")).select("id"));
  expect(nested.records).toEqual(rows.filter(({ meta }) => meta.part === "p05").map(({ id }) => ({ id })));
  expect(nested.share).toBeLessThan(0.05);
});

test("Pushdown proof: so it is for a file that DuckDB wrote", async () => {
  const { share, records } = await reading(theirs, Dataset.fromFiles(theirs).filter(col("id").gt(90_000).and(col("id").le(90_003))));
  expect(records).toEqual([90_001, 90_002, 90_003].map((id) => ({ id: BigInt(id), text: createHash("sha256").update(String(id)).digest("hex") })));
  expect(share).toBeLessThan(0.05);
});

test("Pushdown proof: inside a row group, pages that cannot match are not read", async () => {
  const { share, records } = await reading(paged, Dataset.fromFiles(paged).filter(col("id").eq(2525)));
  expect(records).toEqual([rows[2525]]);
  expect(share).toBeLessThan(0.1);
});

test("Pushdown proof: a column that nobody looks at is not read, one that the filter alone looks at is not given", async () => {
  const { share, records } = await reading(sorted, Dataset.fromFiles(sorted).filter(col("score").gt(2490)).select("id"));
  expect(records).toEqual(rows.filter(({ score }) => score !== null && score > 2490).map(({ id }) => ({ id })));
  expect(share).toBeLessThan(0.05);
  const ids = await reading(sorted, Dataset.fromFiles(sorted).select("id"));
  expect(ids.records).toHaveLength(rows.length);
  expect(ids.share).toBeLessThan(0.2);
});

test("Pushdown proof: a function blocks the projection, for it may look at every column", async () => {
  const { share, records } = await reading(sorted, Dataset.fromFiles<(typeof rows)[number]>(sorted).filter(({ id }) => id === 5n).select("id"));
  expect(records).toEqual([{ id: 5n }]);
  expect(share).toBeGreaterThan(0.95);
});

test("Pushdown proof: the path alone, and the count, read no data page", async () => {
  for (const [dataset, expected] of [
    [Dataset.fromFiles(sorted, { pathColumn: "file" }).select("file"), rows.map(() => ({ file: sorted }))],
    [Dataset.fromFiles(sorted).count(), [rows.length]],
    [Dataset.fromFiles(sorted, { pathColumn: "file" }).filter(col("file").eq("another")), []],
  ] as [Readable, unknown[]][]) {
    const { reads, records } = await reading(sorted, dataset);
    expect(records).toEqual(expected);
    const size = (await createStorage().stat(sorted))?.bytes ?? 0;
    // Nothing but the end of the file, where its table of contents is.
    for (const { start } of reads.ranges) expect(start).toBeGreaterThan(0.95 * size);
  }
});
