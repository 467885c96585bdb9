import fc from "fast-check";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { canonicalJson, fingerprint } from "./fingerprint.js";

const parts = { name: "tokens", version: "1", config: { b: 2, a: [1, "x"] }, inputs: { corpus: "00" } };

test("the fingerprint is the SHA-256 of the sorted JSON", () => {
  const text = '{"config":{"a":[1,"x"],"b":2},"inputs":{"corpus":"00"},"name":"tokens","version":"1"}';
  expect(fingerprint(parts)).toBe(createHash("sha256").update(text).digest("hex"));
});

test("the order of keys and absent keys do not matter; every part does", () => {
  const base = fingerprint(parts);
  expect(fingerprint({ inputs: parts.inputs, config: { a: [1, "x"], b: 2, c: undefined }, version: "1", name: "tokens" })).toBe(base);
  const others = [
    { ...parts, name: "token" },
    { ...parts, version: "2" },
    { ...parts, config: { b: 2, a: ["x", 1] } },
    { ...parts, config: { b: "2", a: [1, "x"] } },
    { ...parts, config: { b: 2, a: [1, "x"], c: null } },
    { ...parts, inputs: { corpus: "01" } },
    { ...parts, inputs: { other: "00" } },
  ].map(fingerprint);
  expect(new Set([base, ...others]).size).toBe(others.length + 1);
});

test("canonical JSON parses back to the same value, and shuffled keys give the same text", () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).reverse().map(([key, field]) => [key, shuffled(field)]));
  };
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonicalJson(shuffled(value))).toBe(text);
    }),
  );
});

const loop: { self?: unknown } = {};
loop.self = loop;

test.each([
  [{ a: { b: () => 1 } }, "a.b", "a function"],
  [{ a: [1, NaN] }, "a[1]", "NaN"],
  [{ a: [undefined] }, "a[0]", "a undefined"],
  [{ a: 1n }, "a", "a bigint"],
  [{ at: new Date(0) }, "at", "a Date"],
  [{ map: new Map() }, "map", "a Map"],
  [loop, "self", "a loop"],
  [Infinity, "(the whole value)", "Infinity"],
])("what JSON has no form for is refused, naming the field (%#)", (value, field, found) => {
  expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: "FINESTORE_NOT_JSON", data: { field, found } }));
});

test("one object used twice is no loop", () => {
  const shared = { x: 1 };
  expect(canonicalJson({ a: shared, b: shared })).toBe('{"a":{"x":1},"b":{"x":1}}');
});
