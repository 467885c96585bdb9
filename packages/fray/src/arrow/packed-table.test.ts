import { Bool, Field, Float64, Int32, List, Struct, Table, tableFromArrays, tableFromIPC, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { afterAll, describe, expect, test } from "vitest";
import { entry, LocalClient } from "../index.js";
import { packTable, unpackTable } from "./index.js";
import type * as fixtures from "../../test/tables.js";

const client = new LocalClient();
afterAll(() => client.shutdown());

const numbers = (): Table => tableFromArrays({ id: Int32Array.from({ length: 1_000 }, (_, n) => n), score: Float64Array.from({ length: 1_000 }, (_, n) => n / 7) });

/** Made anew each time: a table's memory goes with it. */
const tables: readonly (readonly [name: string, make: () => Table])[] = [
  ["numbers", numbers],
  [
    "nested, with nulls",
    () =>
      new Table({
        words: vectorFromArray([["a", "b"], [], null, ["c"]], new List(new Field("item", new Utf8(), true))),
        pairs: vectorFromArray([{ x: 1, y: true }, null, { x: 3, y: false }, { x: 4, y: null }], new Struct([new Field("x", new Float64(), true), new Field("y", new Bool(), true)])),
        names: vectorFromArray(["one", "two", "one", null]),
        wide: vectorFromArray([1n, 2n ** 40n, -3n, 0n]),
        n: vectorFromArray([1, null, 3, 4], new Int32()),
      }),
  ],
  ["a slice", () => numbers().slice(100, 300)],
  ["two batches", () => numbers().slice(0, 10).concat(numbers().slice(990))],
  ["no rows", () => new Table(numbers().schema)],
  ["read from IPC", () => tableFromIPC(tableToIPC(numbers()))],
];

const rowsOf = (table: Table): string => JSON.stringify(table.toArray(), (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));

describe.each(["thread", "process"] as const)("an Arrow table to a %s and back", (kind) => {
  test("is the same, and its memory was handed over", async () => {
    const actor = await client.createActor(entry<typeof fixtures.Tables>(new URL("../../test/tables.ts", import.meta.url), "Tables"), [], { kind, name: kind });
    for (const [name, make] of tables) {
      const table = make();
      const [rows, types] = [rowsOf(table), String(table.schema)];
      const back = unpackTable(await actor.through(packTable(table)));
      expect([name, rowsOf(back), String(back.schema)]).toEqual([name, rows, types]);
      // What writes tables for others takes it as one of its own.
      expect(rowsOf(tableFromIPC(tableToIPC(back)))).toBe(rows);
    }
    const table = numbers();
    const memory = table.getChild("score")?.data[0]?.values as Float64Array;
    await actor.through(packTable(table));
    expect(memory.byteLength).toBe(0);
  });
});
