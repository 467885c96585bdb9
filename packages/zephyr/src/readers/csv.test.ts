import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance, type DuckDBConnection } from "@duckdb/node-api";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readAll } from "../../test/read-all.js";

let directory: string;
let database: DuckDBInstance;
let duckdb: DuckDBConnection;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-csv-"));
  database = await DuckDBInstance.create(":memory:");
  duckdb = await database.connect();
});
afterAll(async () => {
  duckdb.closeSync();
  database.closeSync();
  await rm(directory, { recursive: true });
});

const text = fc.oneof(fc.constantFrom("", '"', ",", "\n", "\r\n", ' " ', "a,b", '""', "plain", "grün 😀"), fc.string({ maxLength: 8, unit: "grapheme" }).map((value) => value.replaceAll("\0", "")));
const quoted = (value: string): string => `"${value.replaceAll('"', '""')}"`;
/** As RFC 4180 asks: what holds a quote, a delimiter or a line end is quoted, and so is what is empty. */
const field = (value: string, always: boolean): string => (always || value === "" || /["\r\n,\t]/.test(value) ? quoted(value) : value);

describe("comma-separated values", () => {
  test("any table comes back as it was, and as DuckDB reads it, whatever is quoted and however lines end", () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 6 }), fc.constantFrom("\n", "\r\n"), fc.boolean(), fc.boolean(), async (rows, end, always, last) => {
        const content = [["a", "b c"], ...rows].map((row) => row.map((value) => field(value, always)).join(",")).join(end) + (last ? end : "");
        expect(await readAll("a.csv", content)).toEqual(rows.map(([a, b]) => ({ a, "b c": b })));
        const path = join(directory, "a.csv");
        await writeFile(path, content);
        const found = await duckdb.runAndReadAll(`SELECT * FROM read_csv('${path}', header = true, all_varchar = true, delim = ',', quote = '"', escape = '"', new_line = '${end === "\n" ? "\\n" : "\\r\\n"}', nullstr = 'no text is null', parallel = false)`);
        expect(found.getRowsJS()).toEqual(rows);
      }),
      { numRuns: 30 },
    ));

  test.each([
    ["tabs", "a.tsv", 'a\tb\n1\t"x\ty"\n', {}, [{ a: "1", b: "x\ty" }]],
    ["another delimiter", "a.csv", "a;b\n1;2,5\n", { delimiter: ";" }, [{ a: "1", b: "2,5" }]],
    ["quotes that mean nothing", "a.tsv", 'a\tb\n5"\t"x\n', { quote: "" }, [{ a: '5"', b: '"x' }]],
    ["names from outside", "a.csv", "1,2\n3,4\n", { header: ["a", "b"] }, [{ a: "1", b: "2" }, { a: "3", b: "4" }]],
    ["empty lines", "a.csv", "a,b\n\n1,2\n\r\n\n", {}, [{ a: "1", b: "2" }]],
    ["one column", "a.csv", 'a\n\n""\nx\n', {}, [{ a: "" }, { a: "x" }]],
    ["names only", "a.csv", "a,b\n", {}, []],
    ["nothing", "a.csv", "", {}, []],
  ])("%s", async (_what, name, content, settings, expected) => {
    expect(await readAll(name, content, { settings })).toEqual(expected);
  });

  test("lines that end in carriage returns alone are an error, and not a file without rows", async () => {
    for (const content of ["a,b\r1,2\r3,4\r", "a\r1\r", "a,b\r1,2\n3,4\n"]) {
      await expect(readAll("a.csv", content), content).rejects.toMatchObject({ code: "ZEPHYR_BAD_CSV", data: { line: 1, offset: 0 }, message: expect.stringContaining("carriage return") as string });
    }
    expect(await readAll("a.csv", '"a\r\nb"\r\n1\r\n')).toEqual([{ "a\r\nb": "1" }]);
  });

  test("a row over several lines is told by its first; what stands behind a wrong one is read", async () => {
    const content = 'a,b\n1,"x\ny"z\n2,"u\nv"\n';
    await expect(readAll("a.csv", content)).rejects.toMatchObject({ code: "ZEPHYR_BAD_CSV", data: { line: 2, offset: 4 }, message: expect.stringContaining('stands "z"') as string });
    expect(await readAll("a.csv", 'a,b\n1,"x\n2,y\n3,"z"\n', { onBadRecord: { skip: true } })).toEqual([{ a: "2", b: "y" }, { a: "3", b: "z" }]);
    expect(await readAll("a.csv", 'a,b\n1,"x\n2,y\n3,z\n', { settings: { maxRowBytes: 8 }, onBadRecord: { skip: true } })).toEqual([{ a: "2", b: "y" }, { a: "3", b: "z" }]);
  });

  test("names that occur twice, and settings that cannot be, are refused", async () => {
    await expect(readAll("a.csv", "a,b,a\n")).rejects.toMatchObject({ code: "ZEPHYR_BAD_CSV", data: { line: 1 }, message: expect.stringContaining('"a" twice') as string });
    for (const settings of [{ delimiter: "ab" }, { delimiter: '"' }, { quote: "ü" }, { header: ["a", "a"] }, { header: false }, { seperator: ";" }]) {
      await expect(readAll("a.csv", "a\n", { settings })).rejects.toMatchObject({ code: "ZEPHYR_BAD_SETTING" });
    }
  });
});
