import { expect, test } from "vitest";
import type { ParquetType } from "../parquet/types.js";
import { recordParser } from "./record-parser.js";

test.each<[ParquetType, unknown, unknown]>([
  ["int64", 5, 5n],
  ["uint64", 5n, 5n],
  ["int32", 5, 5],
  ["float64", 0.5, 0.5],
  ["timestamp-micros", 5, 5n],
  ["date", "2024-02-29", new Date("2024-02-29")],
  ["timestamp-millis", "2024-02-29T12:00:00.5+01:00", new Date("2024-02-29T11:00:00.500Z")],
  [{ decimal: { precision: 5, scale: 2 } }, "1.50", "1.50"],
  [{ nullable: "int64" }, null, null],
  [{ nullable: "int64" }, undefined, null],
  [{ list: "int64" }, [1, 2], [1n, 2n]],
  [{ map: { key: "string", value: "int64" } }, { a: 1 }, new Map([["a", 1n]])],
  [{ struct: { a: "int64", b: { nullable: "date" } } }, { a: 1 }, { a: 1n, b: null }],
])("%j takes %o", (type, value, expected) => {
  expect(recordParser({ x: type })({ x: value })).toEqual({ x: expected });
});

test.each<[ParquetType, unknown, string, string]>([
  ["int64", "5", "x", 'found "5"'],
  ["int64", 0.5, "x", "found 0.5"],
  ["int64", undefined, "x", "found undefined"],
  ["string", 5, "x", "expected text, found 5"],
  ["timestamp-millis", "2024-02-29T12:00:00", "x", "found"],
  ["date", "yesterday", "x", "midnight UTC"],
  [{ list: "string" }, ["a", 1], "x[]", "expected text"],
  [{ struct: { a: "int32" } }, { a: 1, b: 2 }, "x.b", "no such column"],
])("%j does not take %o", (type, value, column, message) => {
  expect(() => recordParser({ x: type })({ x: value })).toThrow(expect.objectContaining({ column, message: expect.stringContaining(message) as string }));
});

test.each<[ParquetType, string, unknown]>([
  ["int64", "-9007199254740993", -9007199254740993n],
  ["int32", "+7", 7],
  ["float64", "1e-3", 0.001],
  ["float64", "-Infinity", -Infinity],
  ["boolean", "TRUE", true],
  ["string", "", ""],
  ["date", "2024-02-29", new Date("2024-02-29")],
  [{ nullable: "int64" }, "", null],
  [{ nullable: "string" }, "", ""],
  [{ decimal: { precision: 5, scale: 2 } }, "1.50", "1.50"],
])("%j takes the text %j", (type, value, expected) => {
  expect(recordParser({ x: type }, "text")({ x: value })).toEqual({ x: expected });
});

test.each<[ParquetType, string, string]>([
  ["int64", "1.0", 'found "1.0"'],
  ["int64", "", 'found ""'],
  ["float64", "1,5", 'found "1,5"'],
  ["int8", "128", "found 128"],
  ["boolean", "yes", 'found "yes"'],
])("%j does not take the text %j", (type, value, message) => {
  expect(() => recordParser({ x: type }, "text")({ x: value })).toThrow(message);
});

test("columns of the schema alone, and objects alone", () => {
  expect(() => recordParser({ x: "int32" })({ x: 1, y: 2 })).toThrow("the schema has no such column");
  expect(() => recordParser({ x: "int32" })([1])).toThrow("it is a list");
  expect(Object.entries(recordParser({ ["constructor" as string]: { nullable: "string" } })({}))).toEqual([["constructor", null]]);
});
