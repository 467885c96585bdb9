import fc from "fast-check";
import type { ParquetRecord, ParquetSchema, ParquetType, ParquetValue } from "../src/index.js";

const year = 365.25 * 86_400_000;
const days = fc.integer({ min: -700_000, max: 2_900_000 }).map((day) => new Date(day * 86_400_000));
const decimals = fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n }).map((value) => `${value < 0n ? "-" : ""}${String(value < 0n ? -value : value).padStart(3, "0").replace(/(\d\d)$/, ".$1")}`);

/** Simple types with values; what DuckDB holds less exactly (nanoseconds with a zone) is left out. */
const scalars: Readonly<Record<string, fc.Arbitrary<ParquetValue>>> = {
  boolean: fc.boolean(),
  int8: fc.integer({ min: -128, max: 127 }),
  int16: fc.integer({ min: -32768, max: 32767 }),
  int32: fc.integer(),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  uint8: fc.integer({ min: 0, max: 255 }),
  uint16: fc.integer({ min: 0, max: 65535 }),
  uint32: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  uint64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  float32: fc.float(),
  float64: fc.double(),
  string: fc.string({ unit: "grapheme" }),
  json: fc.json({ maxDepth: 2 }),
  bytes: fc.uint8Array({ maxLength: 20 }).map((bytes) => Uint8Array.from(bytes)),
  uuid: fc.uuid(),
  date: days,
  "timestamp-micros": fc.bigInt({ min: BigInt(-1900 * year) * 1000n, max: BigInt(7900 * year) * 1000n }),
};

const scalar: fc.Arbitrary<ParquetType> = fc.oneof(
  fc.constantFrom(...(Object.keys(scalars) as ParquetType[])),
  fc.constant<ParquetType>({ decimal: { precision: 38, scale: 2 } }),
  fc.constant<ParquetType>({ fixedBytes: 3 }),
);
const { type } = fc.letrec<{ type: ParquetType; nested: ParquetType }>((tie) => ({
  type: fc.oneof({ maxDepth: 3, withCrossShrink: true }, scalar, tie("nested"), fc.oneof(scalar, tie("nested")).map((inner): ParquetType => ({ nullable: inner }))),
  nested: fc.oneof(
    { maxDepth: 3 },
    tie("type").map((list): ParquetType => ({ list })),
    fc.tuple(fc.constantFrom<ParquetType>("string", "int64", "int32"), tie("type")).map(([key, value]): ParquetType => ({ map: { key, value } })),
    fc.dictionary(fc.constantFrom("a", "b", "ü x", "list"), tie("type"), { minKeys: 1, maxKeys: 3 }).map((struct): ParquetType => ({ struct: { ...struct } })),
  ),
}));

function valuesOf(of: ParquetType): fc.Arbitrary<ParquetValue> {
  if (typeof of === "string") return scalars[of] ?? fc.constant(null);
  if ("nullable" in of) return fc.option(valuesOf(of.nullable), { freq: 2 });
  if ("decimal" in of) return decimals;
  if ("fixedBytes" in of) return fc.uint8Array({ minLength: of.fixedBytes, maxLength: of.fixedBytes }).map((bytes) => Uint8Array.from(bytes));
  if ("list" in of) return fc.array(valuesOf(of.list), { maxLength: 4 });
  if ("map" in of) return fc.uniqueArray(fc.tuple(valuesOf(of.map.key), valuesOf(of.map.value)), { selector: ([key]) => String(key as string | number | bigint), maxLength: 3 }).map((entries) => new Map(entries));
  return fc.record(Object.fromEntries(Object.entries(of.struct).map(([name, field]) => [name, valuesOf(field)]))).map((fields) => ({ ...fields }));
}

/** A schema of some columns, and rows that fit it. */
export const anyFile: fc.Arbitrary<{ schema: ParquetSchema; rows: ParquetRecord[] }> = fc
  .uniqueArray(fc.constantFrom("a", "b c", "d.e", "Ü", 'q"'), { minLength: 1, maxLength: 3 })
  .chain((names) => fc.tuple(...names.map((name) => type.map((of) => [name, of] as const))))
  .chain((entries) => {
    const schema: ParquetSchema = Object.fromEntries(entries);
    const row = fc.record(Object.fromEntries(entries.map(([name, of]) => [name, valuesOf(of)]))).map((fields): ParquetRecord => ({ ...fields }));
    return fc.record({ schema: fc.constant(schema), rows: fc.array(row, { minLength: 1, maxLength: 12 }) });
  });
