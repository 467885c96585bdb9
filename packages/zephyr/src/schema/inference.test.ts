import fc from "fast-check";
import { expect, test } from "vitest";
import { inferSchema } from "./schema-inference.js";
import { SchemaInference } from "./schema-inference.js";

const nullable = (type: unknown): unknown => ({ nullable: type });

test.each<[string, unknown[], unknown]>([
  ["nulls alone are text", [null, undefined], "string"],
  ["whole numbers", [1, -5, 2 ** 53 - 1], "int64"],
  ["whole numbers and others", [1, 0.5], "float64"],
  ["NaN, infinities and -0 are no whole numbers", [1, -0], "float64"],
  ["a number beyond 2^53 is rounded already", [2 ** 60], "float64"],
  ["bigints beside numbers", [1, 2n ** 62n], "int64"],
  ["bigints above int64", [1, 2n ** 64n - 1n], "uint64"],
  ["small bigints beside fractions", [5n, 0.5], "float64"],
  ["text", ["a", null], "string"],
  ["Dates", [new Date(5)], "timestamp-millis"],
  ["bytes", [new Uint8Array(2)], "bytes"],
  ["lists, empty ones first", [[], [null], [1], [0.5]], { list: nullable("float64") }],
  ["typed arrays keep their type", [Int32Array.of(1), new Int32Array()], { list: nullable("int32") }],
  ["typed arrays of two types", [Int32Array.of(1), Uint32Array.of(1)], { list: nullable("int64") }],
  ["typed arrays beside lists", [Float32Array.of(1), [2]], { list: nullable("float64") }],
  ["structs with late fields", [{ a: 1 }, { b: [{ c: "x" }] }], { struct: { a: nullable("int64"), b: nullable({ list: nullable({ struct: { c: nullable("string") } }) }) } }],
  ["maps", [new Map([["a", 1]]), new Map([["b", 0.5]])], { map: { key: "string", value: nullable("float64") } }],
])("%s", async (_what, values, type) => {
  for (const order of [values, values.toReversed()]) {
    expect(await inferSchema(order.map((x) => ({ x })))).toEqual(values.every((value) => value === undefined) ? {} : { x: nullable(type) });
  }
});

test.each<[unknown, unknown, string, string]>([
  [1, "a", "int64", "string"],
  [0.5, true, "float64", "boolean"],
  [[1], 1, "list", "int64"],
  [{ a: 1 }, "x", "struct", "string"],
  [new Map(), { a: 1 }, "map", "struct"],
  [new Date(0), 5, "timestamp-millis", "int64"],
  [2n ** 60n, 0.5, "int64", "float64"],
  [-1, 2n ** 63n, "int64", "uint64"],
])("%o and %o: no type holds both", async (one, other, first, second) => {
  const error = { code: "ZEPHYR_SCHEMA_CONFLICT", data: { path: "in.jsonl", record: 4, column: "x.y", type: second, other: { path: "in.jsonl", record: 2, type: first } } };
  await expect(inferSchema([{}, { x: { y: one } }, { x: { y: null } }, { x: { y: other } }], { path: "in.jsonl" })).rejects.toMatchObject(error);
  await expect(inferSchema([{ x: { y: other } }, { x: { y: one } }])).rejects.toMatchObject({ code: "ZEPHYR_SCHEMA_CONFLICT", data: { record: 2, type: first, other: { record: 1, type: second } } });
});

test("what no column holds is named", async () => {
  await expect(inferSchema([{ a: [{ b: new Set() }] }], { path: "p" })).rejects.toThrow("p, record 1: column a[].b is a Set");
  await expect(inferSchema([{ a: () => 1 }])).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD" });
  await expect(inferSchema([{}, "text"])).rejects.toThrow("the source, record 2 is string");
  await expect(inferSchema([{ a: 2n ** 64n }])).rejects.toThrow("needs more than 64 bits");
});

const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom<unknown>(null, undefined, 1, -1, 0.5, NaN, 2n ** 60n, 2n ** 63n, "a", true, new Date(0), new Uint8Array(1), Int32Array.of(1), Float32Array.of(0.5), [], {}),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("p", "q"), tie("value")),
  ),
})).value;

async function outcome(records: readonly unknown[]): Promise<unknown> {
  return inferSchema(records).catch((error: unknown) => (error as { readonly code: string }).code);
}

test("the order of records changes nothing, and so does dealing them to files", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.dictionary(fc.constantFrom("a", "b"), anyValue), { minLength: 2, maxLength: 6 }).chain((records) => fc.tuple(fc.constant(records), fc.shuffledSubarray(records, { minLength: records.length }), fc.nat(records.length))),
      async ([records, shuffled, cut]) => {
        const expected = await outcome(records);
        expect(await outcome(shuffled)).toEqual(expected);
        const parts = [records.slice(0, cut), records.slice(cut)].map((part, index) => {
          const inference = new SchemaInference(`part ${String(index)}`);
          return { inference, part };
        });
        const together = new SchemaInference("all");
        let joined: unknown;
        try {
          for (const { inference, part } of parts) {
            for (const record of part) inference.observe(record);
            together.absorb(inference.note(), "a part");
          }
          joined = together.schema();
        } catch (error) {
          joined = (error as { readonly code: string }).code;
        }
        expect(joined).toEqual(expected);
      },
    ),
    { numRuns: 300 },
  ));
