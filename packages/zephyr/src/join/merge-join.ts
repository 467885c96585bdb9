import { MarinError, type Storage } from "@marin/iris";
import { isPromise } from "../shuffle/promises.js";
import { RepeatableRecords } from "./repeatable-records.js";
import { type SideOptions, SortedSide } from "./sorted-side.js";

/** Settings of {@link mergeJoin}. */
export interface MergeJoinOptions {
  /** The key of a left record. It may be a promise, as may be what the other functions give. */
  readonly leftKey: (record: unknown) => unknown;
  /** The key of a right record. */
  readonly rightKey: (record: unknown) => unknown;
  /** Makes one record of a left one and a right one, null where a left one has no partner. Default: the fields of both, the right one's where both have them. */
  readonly combiner?: ((left: unknown, right: unknown) => unknown) | undefined;
  /** "inner": pairs; "left": left records without a partner, too. */
  readonly how: "inner" | "left";
  /** What the sides are, for messages: "a-00001.parquet". */
  readonly describe: { readonly left: string; readonly right: string };
  /** What the path of a file begins with that is made where a key has too many right records to be held. It is removed. */
  readonly prefix: string;
  /** What the task may hold in memory, in bytes. */
  readonly memoryBytes: number;
  /** Where the file lies. */
  readonly storage: Storage;
  /** Aborts the work. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Joins two sides that are sorted by their keys: each left record with each right record of its key, in the order of the left records, then of the right ones. Both sides
 * are read once, to their ends; memory is the same for any number of records.
 *
 * @throws MarinError ZEPHYR_UNSORTED naming the side, the record and both keys; ZEPHYR_BAD_KEY; ZEPHYR_NO_COMBINER where there is none and records are no objects
 */
export async function* mergeJoin(left: AsyncIterable<unknown>, right: AsyncIterable<unknown>, options: MergeJoinOptions): AsyncGenerator<unknown> {
  const { leftKey, rightKey, how, describe, signal } = options;
  const combiner = options.combiner ?? ((a: unknown, b: unknown) => mergeFields(a, b, describe));
  await using lefts = await SortedSide.open(left, side(describe.left, leftKey));
  await using rights = await SortedSide.open(right, side(describe.right, rightKey));
  while (!lefts.ended) {
    signal?.throwIfAborted();
    while (!rights.ended && rights.key.compare(lefts.key) < 0) await rights.next();
    if (rights.ended && how === "inner") break;
    const record = lefts.record;
    if (rights.ended || !rights.key.equals(lefts.key)) {
      if (how === "left") yield await combiner(record, null);
      await lefts.next();
      continue;
    }
    const key = lefts.key;
    await lefts.next();
    if (lefts.ended || !lefts.key.equals(key)) {
      // The only left record of its key: its partners pass by.
      for await (const partner of rights.whileKey(key)) yield resolved(combiner(record, partner));
      continue;
    }
    await using partners = await RepeatableRecords.gather(rights.whileKey(key), options);
    for await (const partner of partners) yield resolved(combiner(record, partner));
    for await (const again of lefts.whileKey(key)) {
      signal?.throwIfAborted();
      for await (const partner of partners) yield resolved(combiner(again, partner));
    }
  }
  // Behind the other side's end a key that falls would have been a partner: it is looked for.
  for (const rest of [lefts, rights]) {
    while (!rest.ended) {
      signal?.throwIfAborted();
      await rest.next();
    }
  }
}

function side(name: string, key: (record: unknown) => unknown): SideOptions {
  return { name, key };
}

function resolved(value: unknown): unknown {
  return isPromise(value) ? Promise.resolve(value) : value;
}

function mergeFields(left: unknown, right: unknown, describe: MergeJoinOptions["describe"]): unknown {
  if (isFields(left) && (right === null || isFields(right))) return { ...left, ...right };
  throw new MarinError(
    "ZEPHYR_NO_COMBINER",
    `The records of ${isFields(left) ? describe.right : describe.left} are no objects, whose fields could be put together: give the join a combiner(left, right).`,
    { data: { left: describe.left, right: describe.right } },
  );
}

function isFields(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
