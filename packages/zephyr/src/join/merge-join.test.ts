import { createStorage } from "@marin/iris";
import fc from "fast-check";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mergeJoin, type MergeJoinOptions } from "./merge-join.js";

interface Left {
  readonly id: number | bigint | string;
  readonly left: number;
}
interface Right {
  readonly id: number | bigint | string;
  readonly right: number;
}

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-join-"));
});
afterAll(() => rm(directory, { recursive: true }));

const idOf = (record: unknown): unknown => (record as Left | Right).id;

async function* from<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

async function joined(left: Iterable<unknown>, right: Iterable<unknown>, options: Partial<MergeJoinOptions> = {}): Promise<unknown[]> {
  const all: unknown[] = [];
  const settings = { leftKey: idOf, rightKey: idOf, how: "inner", describe: { left: "a.jsonl", right: "b.jsonl" }, prefix: join(directory, "join-"), memoryBytes: 1 << 20, storage: createStorage(), ...options } as const;
  for await (const record of mergeJoin(from(left), from(right), settings)) all.push(record);
  return all;
}

/** Every record with every record. */
function nestedLoops(left: readonly Left[], right: readonly Right[], how: "inner" | "left"): unknown[] {
  return left.flatMap((l): unknown[] => {
    const partners = right.filter((r) => r.id === l.id).map((r) => ({ ...l, ...r }));
    return partners.length === 0 && how === "left" ? [{ ...l }] : partners;
  });
}

const ids = fc.array(fc.nat(6), { maxLength: 15 }).map((all) => all.sort((a, b) => a - b));

test("Merge join: duplicate keys on both sides, inner and left, at any memory: as nested loops give it", async () => {
  await fc.assert(
    fc.asyncProperty(ids, ids, fc.constantFrom("inner" as const, "left" as const), fc.constantFrom(1, 200, 1 << 20), async (lefts, rights, how, memoryBytes) => {
      const left = lefts.map((id, at) => ({ id, left: at }));
      const right = rights.map((id, at) => ({ id, right: at }));
      expect(await joined(left, right, { how, memoryBytes })).toEqual(nestedLoops(left, right, how));
    }),
    { numRuns: 60 },
  );
  expect(await readdir(directory)).toEqual([]);
});

test("keys of both sides are one when their values are: bigints from Parquet, numbers from JSON", async () => {
  expect(await joined([{ id: 1, left: 1 }, { id: 2, left: 2 }], [{ id: 2n, right: 3 }])).toEqual([{ id: 2n, left: 2, right: 3 }]);
});

test("text is in the order of code points", async () => {
  const words = ["Z", "a", "é", "\uffee", "😀"];
  const left = words.map((id, at) => ({ id, left: at }));
  expect(await joined(left, left)).toEqual(left);
});

test("a combiner gets null for a missing right record, and may be asynchronous", async () => {
  const combiner = async (left: unknown, right: unknown): Promise<unknown> => [(left as Left).left, (right as Right | null)?.right ?? null];
  const left = [{ id: 1, left: 10 }, { id: 1, left: 11 }, { id: 2, left: 20 }];
  expect(await joined(left, [{ id: 1, right: 5 }], { how: "left", combiner })).toEqual([[10, 5], [11, 5], [20, null]]);
});

test.each([
  ["left", "a.jsonl"],
  ["right", "b.jsonl"],
])("Merge join: an unsorted %s side is refused, naming the side, the record and both keys", async (side, name) => {
  const sorted = [{ id: "a" }, { id: "b" }, { id: "d" }];
  const unsorted = [{ id: "a" }, { id: "d" }, { id: "b" }];
  const joining = joined(side === "left" ? unsorted : sorted, side === "left" ? sorted : unsorted);
  await expect(joining).rejects.toMatchObject({ code: "ZEPHYR_UNSORTED", message: new RegExp(`^${name.replace(".", "\\.")}, record 2: the key "b" comes after "d"`), data: { input: name, record: 2, key: "b", before: "d" } });
});

test("Merge join: an unsorted side is refused behind the end of the other one, too", async () => {
  const short = [{ id: 1 }];
  const unsorted = [{ id: 2 }, { id: 1 }];
  for (const how of ["inner", "left"] as const) {
    await expect(joined(unsorted, short, { how })).rejects.toMatchObject({ code: "ZEPHYR_UNSORTED", data: { input: "a.jsonl", record: 1, key: 1, before: 2 } });
    await expect(joined(short, unsorted, { how })).rejects.toMatchObject({ code: "ZEPHYR_UNSORTED", data: { input: "b.jsonl", record: 1, key: 1, before: 2 } });
  }
});

test("records that are no objects need a combiner", async () => {
  const own = (record: unknown): unknown => record;
  await expect(joined([1], [1], { leftKey: own, rightKey: own })).rejects.toMatchObject({ code: "ZEPHYR_NO_COMBINER" });
  expect(await joined([1, 2], [2], { leftKey: own, rightKey: own, combiner: (a, b) => [a, b] })).toEqual([[2, 2]]);
});

test("both sources are closed when the joined records are no longer asked for, and no further than needed is read", async () => {
  const closed: string[] = [];
  let read = 0;
  const endless = async function* (name: string): AsyncGenerator<unknown> {
    try {
      for (let id = 0; ; id++) {
        read += 1;
        yield { id };
      }
    } finally {
      closed.push(name);
    }
  };
  const settings = { leftKey: idOf, rightKey: idOf, how: "inner", describe: { left: "a", right: "b" }, prefix: join(directory, "join-"), memoryBytes: 1 << 20, storage: createStorage() } as const;
  for await (const record of mergeJoin(endless("left"), endless("right"), settings)) {
    if ((record as Left).id === 9) break;
  }
  expect(closed.sort()).toEqual(["left", "right"]);
  expect(read).toBeLessThanOrEqual(24);
});
