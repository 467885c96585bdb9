import fc from "fast-check";
import type { ShuffleKey } from "../src/shuffle/types.js";

/** Text of any UTF-16 units, lone halves of surrogate pairs among them. */
const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 5 }).map((units) => String.fromCharCode(...units)));
const numbers = fc.oneof(fc.integer({ min: -200, max: 200 }), fc.integer(), fc.maxSafeInteger(), fc.double(), fc.constantFrom(-0, NaN, Infinity, 2 ** 53, 2 ** 53 + 2, -(2 ** 64)));
const bigints = fc.oneof(fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }), fc.bigInt(), fc.constantFrom(0n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 1000n + 1n));
const bytes = fc.uint8Array({ maxLength: 6 }).map((each) => Uint8Array.from(each));
const dates = fc.date({ noInvalidDate: true });

/** Any key of a shuffle. */
export const anyKey: fc.Arbitrary<ShuffleKey> = fc.letrec<{ key: ShuffleKey }>((tie) => ({
  key: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    numbers,
    bigints,
    text,
    bytes,
    dates,
    fc.array(tie("key"), { maxLength: 3 }),
    fc.dictionary(fc.string({ maxLength: 2 }), tie("key"), { maxKeys: 3 }).map((fields) => ({ ...fields })),
  ),
})).key;

/** Any value that travels between stages. */
export const anyValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(null, undefined),
    fc.boolean(),
    numbers,
    bigints,
    text,
    fc.string({ minLength: 60, maxLength: 300, unit: "grapheme" }),
    bytes,
    fc.date(),
    fc.float32Array({ maxLength: 4 }).map((each) => Float32Array.from(each)),
    fc.int32Array({ maxLength: 4 }).map((each) => Int32Array.from(each)),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(fc.oneof(text, fc.constantFrom("id", "text", "__proto__", "")), tie("value"), { maxKeys: 5, noNullPrototype: true }),
    fc.array(fc.tuple(text, tie("value")), { maxLength: 3 }).map((entries) => new Map(entries)),
    fc.array(fc.oneof(numbers, text), { maxLength: 3 }).map((items) => new Set(items)),
  ),
})).value;
