import fc from "fast-check";
import { expect, test } from "vitest";
import { anyValue } from "../../test/any-value.js";
import { ByteWriter } from "./byte-writer.js";
import { writeValue } from "./record-codec.js";
import { RecordReader } from "./record-reader.js";

function travelled(...values: unknown[]): unknown[] {
  const writer = new ByteWriter(1);
  for (const value of values) writeValue(writer, value);
  const reader = new RecordReader();
  reader.start(writer.bytes.subarray(0, writer.length), 0);
  return values.map(() => reader.next());
}

test("any values come back exactly as they were, one after the other", () => {
  fc.assert(
    fc.property(fc.array(anyValue, { minLength: 1, maxLength: 3 }), (values) => {
      expect(travelled(...values)).toStrictEqual(values);
    }),
    { numRuns: 500 },
  );
});

test.each([
  ["minus zero", -0],
  ["numbers at the ends of their encodings", [127, 128, -1, -128, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, 2 ** 53, 0.1, 5e-324, NaN, -Infinity]],
  ["bigints", [0n, -1n, 255n, 256n, 2n ** 63n, -(2n ** 200n)]],
  ["text that UTF-8 cannot hold", ["\ud83d", "a\udc00b", `${"x".repeat(100)}\ud800`]],
  ["63 and 64 characters, ASCII and not", ["a".repeat(63), "a".repeat(64), "ü".repeat(63), "ü".repeat(64), "日本語 😀"]],
  ["undefined in an object and in an array", [{ a: undefined }, [undefined, 1]]],
  ["an own field named __proto__", JSON.parse('{"__proto__": {"a": 1}, "b": 2}') as unknown],
  ["typed arrays", [new Float64Array([0.1, -0]), new BigInt64Array([-5n]), new Uint8ClampedArray([300]), new Int16Array(0)]],
])("%s", (_name, value) => {
  expect(travelled(value)).toStrictEqual([value]);
});

test("a Buffer comes back as a Uint8Array, and no memory is shared", () => {
  const [bytes] = travelled(Buffer.from("abc")) as [Uint8Array];
  expect(bytes).toStrictEqual(Uint8Array.from([97, 98, 99]));
  expect(bytes.buffer.byteLength).toBe(3);
});

test("records of one shape and of another, one after the other", () => {
  const records = Array.from({ length: 50 }, (_, index) => (index % 7 === 3 ? { other: index, nested: { id: "x", nameWithü: [1] } } : { id: index, text: `text ${String(index)}`, nested: { id: null } }));
  expect(travelled(...records)).toStrictEqual(records);
});

class Document {
  readonly id = 1;
}
const cycle: Record<string, unknown> = {};
cycle["self"] = cycle;

test.each([
  ["a function", { a: { b: [0, () => 1] } }, "a.b[1]", "a function"],
  ["a symbol", Symbol("s"), "", "a symbol"],
  ["an instance of a class", [new Document()], "[0]", "an instance of Document"],
  ["a promise", { text: Promise.resolve(1) }, "text", "an instance of Promise"],
  ["a cycle", cycle, "", "nested too deeply, or holds itself"],
])("%s is refused, and the error says where it is", (_name, value, path, found) => {
  expect(() => travelled(value)).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_VALUE", data: { path: path === "" ? "" : expect.stringMatching(new RegExp(`^\\.?${path.replace(/[[\].]/g, "\\$&")}$`)), found } }));
});
