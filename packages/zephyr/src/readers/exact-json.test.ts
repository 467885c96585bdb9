import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readAll } from "../../test/read-all.js";
import { Dataset } from "../dataset.js";
import { col } from "../expr/expr.js";
import { inferSchema } from "../schema/schema-inference.js";
import { parseExactly } from "./exact-json.js";

/** A JSON text and its value. */
interface Written {
  readonly text: string;
  readonly value: unknown;
}

const gap = fc.constantFrom("", "", " ", "\r\n\t");
const integer = fc.oneof(fc.bigInt(), fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), fc.constantFrom(2n ** 53n - 1n, 2n ** 53n, -(2n ** 53n), 2n ** 53n + 1n, 10n ** 15n, 10n ** 16n));
const leaf: fc.Arbitrary<Written> = fc.oneof(
  integer.map((value) => ({ text: String(value), value: value > -(2n ** 53n) && value < 2n ** 53n ? Number(value) : value })),
  fc.constantFrom("12345678901234567.5", "1e20", "12345678901234567890E0", "-0", "0.12345678901234567890").map((text) => ({ text, value: JSON.parse(text) as unknown })),
  fc
    .oneof(fc.string({ unit: "binary" }), fc.constantFrom('":1234567890123456789,"', "\\", '\\"', "1234567890123456789", "\u0001", "\u0001\u0001123", "\\u0001"))
    .map((value) => ({ text: JSON.stringify(value), value })),
  fc.constantFrom("true", "null").map((text) => ({ text, value: JSON.parse(text) as unknown })),
);
const { tree } = fc.letrec<{ tree: Written }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.tuple(fc.array(tie("tree"), { maxLength: 4 }), gap).map(([items, space]) => ({ text: `[${space}${items.map(({ text }) => text).join(`${space},`)}${space}]`, value: items.map(({ value }) => value) })),
    fc.tuple(fc.dictionary(fc.constantFrom("a", "12345678901234567", "__proto__", "\u0001"), tie("tree"), { maxKeys: 3, noNullPrototype: true }), gap).map(([fields, space]) => ({
      text: `{${Object.entries(fields).map(([name, { text }]) => `${JSON.stringify(name)}${space}:${space}${text}`).join(",")}}`,
      value: Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value])),
    })),
  ),
}));

describe("whole numbers of JSON beyond 2^53", () => {
  test("any JSON: every number is what its digits say, and everything else is as JSON.parse has it", () =>
    fc.assert(
      fc.property(tree, ({ text, value }) => {
        expect(parseExactly(text)).toEqual(value);
      }),
      { numRuns: 300 },
    ));

  test("what is no JSON stays none", () => {
    for (const text of ["01234567890123456789", "{12345678901234567890:1}", "[12345678901234567890", "--12345678901234567890", "12345678901234567890 1", '"12345678901234567890']) expect(() => parseExactly(text), text).toThrow(SyntaxError);
  });

  test("a file of them: values, filters, schemas, nesting beyond the stack", async () => {
    const ids = [2n ** 53n + 1n, 2n ** 53n + 2n, -(2n ** 63n)];
    const lines = `${ids.map((id) => `{"id":${String(id)},"text":"12345678901234567890"}`).join("\n")}\n`;
    const records = await readAll("a.jsonl", lines);
    expect(records).toEqual(ids.map((id) => ({ id, text: "12345678901234567890" })));
    expect(await inferSchema(records)).toEqual({ id: { nullable: "int64" }, text: { nullable: "string" } });
    expect(await readAll("a.jsonl", lines, { schema: { id: "int64", text: "string" } })).toEqual(records);
    expect(await Dataset.fromArray(records).filter(col("id").eq(2n ** 53n + 2n)).toArray()).toEqual(records.slice(1, 2));
    await expect(inferSchema([...records, { id: 2n ** 63n }])).rejects.toMatchObject({ code: "ZEPHYR_SCHEMA_CONFLICT" });
    let [inner] = await readAll("a.jsonl", `${"[".repeat(50_000)}12345678901234567890${"]".repeat(50_000)}\n`);
    while (Array.isArray(inner)) [inner] = inner as unknown[];
    expect(inner).toBe(12345678901234567890n);
  });
});
