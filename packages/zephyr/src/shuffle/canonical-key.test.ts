import fc from "fast-check";
import { expect, test } from "vitest";
import { anyKey } from "../../test/any-value.js";
import { ByteWriter } from "./byte-writer.js";
import { readKey, writeKey } from "./canonical-key.js";
import type { ShuffleKey } from "./types.js";

function bytesOf(key: unknown): Buffer {
  const writer = new ByteWriter(1);
  writeKey(writer, key);
  return writer.bytes.subarray(0, writer.length);
}

/** Place of a key's kind in the order. */
function kind(key: ShuffleKey): number {
  if (key === null) return 0;
  if (typeof key === "boolean") return key ? 2 : 1;
  if (typeof key === "number" || typeof key === "bigint") return 3;
  if (key instanceof Date) return 4;
  if (typeof key === "string") return 5;
  if (key instanceof Uint8Array) return 6;
  return Array.isArray(key) ? 7 : 8;
}

/** Compares code points, with no regard to how anything is encoded. */
function compareText(a: string, b: string): number {
  const [left, right] = [[...a], [...b]].map((characters) => characters.map((character) => character.codePointAt(0) as number)) as [number[], number[]];
  return compareLists(left, right, (x, y) => x - y);
}

function compareLists<T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number): number {
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const difference = compare(a[index] as T, b[index] as T);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function compareNumbers(a: number | bigint, b: number | bigint): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The order that the documentation tells, straight from the values. */
function compareKeys(a: ShuffleKey, b: ShuffleKey): number {
  const difference = kind(a) - kind(b);
  if (difference !== 0) return difference;
  if (kind(a) === 3) return compareNumbers(a as number, b as number);
  if (a instanceof Date) return a.getTime() - (b as Date).getTime();
  if (typeof a === "string") return compareText(a, b as string);
  if (a instanceof Uint8Array) return compareLists([...a], [...(b as Uint8Array)], (x, y) => x - y);
  if (Array.isArray(a)) return compareLists(a as ShuffleKey[], b as ShuffleKey[], compareKeys);
  if (kind(a) < 3) return 0;
  const entries = (key: ShuffleKey): ShuffleKey[] => Object.entries(key as object).sort(([x], [y]) => (x < y ? -1 : 1)).flat() as ShuffleKey[];
  return compareLists(entries(a), entries(b), compareKeys);
}

test("canonical bytes compare as keys do, for any two keys", () => {
  const near = anyKey.chain((key) => fc.tuple(fc.constant(key), fc.oneof(anyKey, fc.constant(key), fc.constant([key, null] as ShuffleKey))));
  fc.assert(
    fc.property(near, ([a, b]) => {
      expect(Math.sign(bytesOf(a).compare(bytesOf(b)))).toBe(Math.sign(compareKeys(a, b)));
    }),
    { numRuns: 800 },
  );
});

test("keys one after the other compare as the first, then the second: no bytes are the beginning of others", () => {
  fc.assert(
    fc.property(fc.tuple(anyKey, anyKey), fc.tuple(anyKey, anyKey), (a, b) => {
      const joined = [a, b].map((keys) => Buffer.concat(keys.map(bytesOf))) as [Buffer, Buffer];
      expect(Math.sign(joined[0].compare(joined[1]))).toBe(Math.sign(compareKeys(a[0], b[0]) || compareKeys(a[1], b[1])));
    }),
    { numRuns: 500 },
  );
});

/** Bigints of safe integers as the numbers that they equal, -0 as 0, fields sorted: what is one key, in one form. */
function oneForm(key: ShuffleKey): ShuffleKey {
  if (typeof key === "bigint") return BigInt(Number(key)) === key ? Number(key) : key;
  if (key === 0) return 0;
  if (typeof key !== "object" || key === null || key instanceof Date || key instanceof Uint8Array) return key;
  if (Array.isArray(key)) return (key as ShuffleKey[]).map(oneForm);
  return Object.fromEntries(Object.entries(key).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => [name, oneForm(value as ShuffleKey)]));
}

test("keys come back, numbers for the bigints that they equal", () => {
  fc.assert(
    fc.property(anyKey, (key) => {
      const writer = new ByteWriter();
      const exact = writeKey(writer, key);
      const back = readKey(writer.bytes.subarray(0, writer.length));
      expect(back).toStrictEqual(oneForm(key));
      if (exact && !JSON.stringify(key, (_name, value: unknown) => (Object.is(value, -0) ? "-0" : typeof value === "bigint" ? `${String(value)}n` : value)).includes("-0")) expect(back).toEqual(key);
    }),
    { numRuns: 500 },
  );
});

test("1 and 1n, 0 and -0, two NaN, fields in any order, are one key", () => {
  expect(bytesOf(1)).toEqual(bytesOf(1n));
  expect(bytesOf(-0)).toEqual(bytesOf(0n));
  expect(bytesOf(NaN)).toEqual(bytesOf(-NaN));
  expect(bytesOf({ a: 1, b: [null] })).toEqual(bytesOf({ b: [null], a: 1n }));
  expect(bytesOf("1")).not.toEqual(bytesOf(1));
  expect(bytesOf(2 ** 53)).not.toEqual(bytesOf(2n ** 53n + 1n));
});

test.each([
  ["undefined", undefined, "The key is undefined", /Give null for items without a key/],
  ["undefined inside", { user: [1, undefined] }, "The key's user[1] is undefined", /null/],
  ["a function", () => 1, "The key is function", /keys are null/],
  ["an invalid date", new Date(NaN), "The key is no time", /dates/],
  ["a map", [new Map()], "The key's [0] is an instance of Map", /plain objects/],
  ["a bigint without measure", 2n ** 1023n, "The key is a bigint of more than 1023 bits", /bigints/],
])("%s is no key, and the error says where it is", (_name, key, begins, says) => {
  expect(() => bytesOf(key)).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_KEY", message: expect.stringMatching(says) }));
  expect(() => bytesOf(key)).toThrow(begins);
});
