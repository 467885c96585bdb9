import { createStorage, withLocalContext } from "@marin/iris";
import { tableToIPC } from "apache-arrow";
import { describe, expect, test } from "vitest";
import { toArrowTable } from "../arrow/table.js";
import { Dataset } from "../dataset.js";
import { col } from "../expr/expr.js";
import { writeParquet } from "../writers/parquet.js";
import type { FromFilesOptions } from "../sources.js";

const schema = { text: "string", meta: { struct: { part: "string" } } } as const;
const rows = [{ text: "x", meta: { part: "p" } }];
const storage = createStorage();
await storage.write("memory://t/a.csv", "text,n\nx,1\n");
await storage.write("memory://t/b.tsv", "text\tn\nx\t1\n");
await storage.write("memory://t/c.txt", "x");
await writeParquet("memory://t/d.parquet", rows, { schema, storage });
await storage.write("memory://t/e.arrow", tableToIPC(await toArrowTable(rows, schema)));
await storage.write("memory://t/f.wet", "");
await storage.write("memory://t/g.warc", "");
const tables = ["a.csv", "b.tsv", "c.txt", "d.parquet", "e.arrow", "f.wet", "g.warc"].map((name) => `memory://t/${name}`);

const files = (path: string, options: FromFilesOptions = {}): Dataset<unknown> => Dataset.fromFiles(path, options);
/** What a dataset gives, or the code and the column of its error. */
const outcome = (dataset: Dataset<unknown>): Promise<unknown> =>
  withLocalContext({ storage }, () => dataset.toArray()).catch((error: { code?: string; data?: { column?: string; line?: number } }) => [error.code, error.data?.column]);
/** How many items a dataset has by its count, and by its items. */
const counts = async (dataset: Dataset<unknown>): Promise<unknown[]> => {
  const items = await outcome(dataset);
  return [await outcome(dataset.count()), Array.isArray(items) && items[0] !== "ZEPHYR_BAD_RECORD" ? [items.length] : items];
};

describe("columns that a file lacks", () => {
  test.each(tables)("%s: a filter, a select and columns that name one are errors, counted or not", async (path) => {
    for (const dataset of [files(path).filter(col("no").eq(1)), files(path).filter(col("text").isNull().or(col("no").isNull())), files(path).select("text", "no"), files(path, { columns: ["no"] }), files(path, { pathColumn: "file" }).filter(col("no").eq("x"))]) {
      for (const asked of [dataset, dataset.count(), dataset.take(0).union(dataset)]) expect(await outcome(asked)).toEqual(["ZEPHYR_NO_COLUMN", "no"]);
    }
    await expect(withLocalContext({ storage }, () => files(path).filter(col("no").eq(1)).toArray())).rejects.toThrow(`${path} has no column "no"; its columns are `);
    expect(await outcome(files(path, { pathColumn: "file" }).filter(col("file").eq("another")))).toEqual([]);
  });

  test.each(["memory://t/d.parquet", "memory://t/e.arrow"])("%s: so are fields inside of structs", async (path) => {
    expect(await outcome(files(path).filter(col("meta").field("no").isNull()))).toEqual(["ZEPHYR_NO_COLUMN", "meta.no"]);
    expect(await outcome(files(path).filter(col("meta").field("part").eq("p")))).toEqual(rows);
  });

  test("with a schema that says what is there instead they are null, and the schema alone says which columns there are", async () => {
    const wide = { text: "string", meta: { nullable: { struct: { part: "string" } } }, no: { nullable: "int64" } } as const;
    for (const path of ["memory://t/d.parquet", "memory://t/e.arrow"]) {
      const dataset = files(path, { schema: wide });
      expect(await outcome(dataset.filter(col("no").isNull()))).toEqual([{ ...rows[0], no: null }]);
      expect(await outcome(dataset.filter(col("no").gt(1)))).toEqual([]);
      expect(await outcome(dataset.select("no", "text"))).toEqual([{ no: null, text: "x" }]);
      expect(await outcome(files(path, { schema: wide, columns: ["no", "text"] }))).toEqual([{ no: null, text: "x" }]);
      for (const wrong of [dataset.filter(col("other").isNull()), dataset.select("other")]) expect(await outcome(wrong)).toEqual(["ZEPHYR_NO_COLUMN", "other"]);
    }
    await expect(withLocalContext({ storage }, () => files("memory://t/a.csv", { schema: { text: "string", n: "int64", no: "string" }, onBadRecord: { skip: true } }).toArray())).rejects.toMatchObject({ code: "ZEPHYR_NO_COLUMN", data: { column: "no", columns: ["text", "n"] } });
  });
});

test("the field that gets the path replaces none: every format says so, unless the field is left out", async () => {
  await storage.write("memory://j/a.jsonl", '{"n":1}\n{"text":"x"}\n');
  for (const path of ["memory://j/a.jsonl", ...tables]) {
    const error = withLocalContext({ storage }, () => files(path, { pathColumn: "text" }).toArray());
    await expect(error, path).rejects.toMatchObject({ code: "ZEPHYR_BAD_OPTION", message: expect.stringContaining(`${path}${path.endsWith("jsonl") ? ", line 2" : ""} has a column "text" already`) as string });
  }
  for (const path of ["memory://t/a.csv", "memory://t/d.parquet"]) {
    const [column] = path.endsWith("csv") ? ["n"] : ["meta"];
    expect(await outcome(files(path, { columns: [column], pathColumn: "text" }))).toMatchObject([{ text: path }]);
    expect(await outcome(files(path, { pathColumn: "text" }).select(column))).toEqual(["ZEPHYR_BAD_OPTION", undefined]);
  }
});

test("a count is that of the records, whatever is looked at, passed over or fails", async () => {
  await storage.write("memory://j/b.jsonl", '{"a":1,"b":2}\n{"a":"x","b":2}\n{"a":1,"b":"y"}\n{"a":1,"c":0}\n[1]\n5\n{"a":4}\n');
  await writeParquet("memory://j/b.parquet", [{ a: 1, b: "2" }], { schema: { a: "int64", b: "string" }, storage });
  const contract = { a: "int64", b: { nullable: "int64" } } as const;
  for (const [options, expected] of [
    [{ onBadRecord: { skip: true }, schema: contract }, [2, 2, 2, 2]],
    [{ onBadRecord: { skip: true }, schema: contract, columns: ["a"] }, [4, 4, 4, 4]],
    [{ onBadRecord: { skip: true }, columns: ["a"] }, [5, 5, 5, 5]],
    [{ onBadRecord: { skip: true }, pathColumn: "file" }, [5, 5, 5, 5]],
    [{ onBadRecord: { skip: true } }, [7, 5, 5, 5]],
  ] as const) {
    const dataset = files("memory://j/b.jsonl", options as FromFilesOptions);
    for (const [index, asked] of [dataset, dataset.select("a"), dataset.filter(col("a").isNull().not()), dataset.filter(col("a").isNull().not()).select("a")].entries()) expect(await counts(asked), JSON.stringify(options)).toEqual([[expected[index]], [expected[index]]]);
  }
  for (const path of ["memory://j/b.jsonl", "memory://j/b.parquet"]) {
    const strict = files(path, { schema: contract });
    for (const asked of [strict, strict.select("a"), strict.filter(col("a").gt(0))]) expect(await counts(asked), path).toEqual([["ZEPHYR_BAD_RECORD", path.endsWith("jsonl") ? "a" : "b"], ["ZEPHYR_BAD_RECORD", path.endsWith("jsonl") ? "a" : "b"]]);
  }
});
