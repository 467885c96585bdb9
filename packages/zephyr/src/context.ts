import { AsyncLocalStorage } from "node:async_hooks";
import { getIrisCtx, type IrisContext } from "@marin/iris";

export { getIrisCtx } from "@marin/iris";

/** What was counted under one name. */
export interface CounterValue {
  /** Of all amounts. */
  readonly sum: number;
  /** The least amount. */
  readonly min: number;
  /** The greatest amount. */
  readonly max: number;
  /** How often it was counted. */
  readonly updates: number;
}

/** What was counted, by name, sorted. */
export type Counters = Readonly<Record<string, CounterValue>>;

/** The bookkeeping of the work that is going on. Ask {@link zephyrContext} for it. */
export interface ZephyrContext {
  /** The running task, or undefined outside one. */
  readonly task: IrisContext | undefined;
  /**
   * Counts something that the work has done: documents read, lines too short. Inside `execute` and `mapShards` the counts of all shards
   * are put together.
   *
   * @param name - what is counted
   * @param amount - how much is added. Default 1
   */
  count(name: string, amount?: number): void;
  /** What was counted so far, sorted by name: in this shard, or else in this task, or else in this process. */
  counters(): Counters;
}

/** The counts of one shard. */
const ofShard = new AsyncLocalStorage<Map<string, CounterValue>>();
const ofTask = new WeakMap<IrisContext, Map<string, CounterValue>>();
const ofProcess = new Map<string, CounterValue>();

/** The bookkeeping of the work that is going on, inside a task or outside. */
export function zephyrContext(): ZephyrContext {
  const task = getIrisCtx();
  const counts = currentCounts(task);
  return {
    task,
    count: (name, amount = 1) => {
      add(counts, name, { sum: amount, min: amount, max: amount, updates: 1 });
    },
    counters: () => sorted(counts),
  };
}

/** Runs work with counts of its own. */
export async function counted<R>(work: () => R | Promise<R>): Promise<{ readonly value: R; readonly counters: Counters }> {
  const counts = new Map<string, CounterValue>();
  const value = await ofShard.run(counts, work);
  return { value, counters: sorted(counts) };
}

/** Counts put together. */
export function addCounters(...all: readonly Counters[]): Counters {
  const together = new Map<string, CounterValue>();
  for (const counters of all) for (const [name, value] of Object.entries(counters)) add(together, name, value);
  return sorted(together);
}

function add(counts: Map<string, CounterValue>, name: string, { sum, min, max, updates }: CounterValue): void {
  const before = counts.get(name);
  counts.set(
    name,
    before === undefined ? { sum, min, max, updates } : { sum: before.sum + sum, min: Math.min(before.min, min), max: Math.max(before.max, max), updates: before.updates + updates },
  );
}

function currentCounts(task: IrisContext | undefined): Map<string, CounterValue> {
  const shard = ofShard.getStore();
  if (shard !== undefined) return shard;
  if (task === undefined) return ofProcess;
  const known = ofTask.get(task);
  if (known !== undefined) return known;
  const counts = new Map<string, CounterValue>();
  ofTask.set(task, counts);
  return counts;
}

function sorted(counts: ReadonlyMap<string, CounterValue>): Counters {
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}
