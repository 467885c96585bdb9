import { AsyncLocalStorage } from "node:async_hooks";
import { getIrisCtx, type IrisContext } from "@marin/iris";

export { getIrisCtx } from "@marin/iris";

/** How often things were counted, by name. */
export type Counters = Readonly<Record<string, number>>;

/** The bookkeeping of the work that is going on. Ask {@link zephyrContext} for it. */
export interface ZephyrContext {
  /** The running task, or undefined outside one. */
  readonly task: IrisContext | undefined;
  /**
   * Counts something that the work has done: documents read, lines too short. Inside `mapShards` the counts of all items
   * are added up.
   *
   * @param name - what is counted
   * @param amount - how much is added. Default 1
   */
  count(name: string, amount?: number): void;
  /** What was counted so far, sorted by name: in this item of `mapShards`, or else in this task, or else in this process. */
  counters(): Counters;
}

/** The counts of one item. */
const ofItem = new AsyncLocalStorage<Map<string, number>>();
const ofTask = new WeakMap<IrisContext, Map<string, number>>();
const ofProcess = new Map<string, number>();

/** The bookkeeping of the work that is going on, inside a task or outside. */
export function zephyrContext(): ZephyrContext {
  const task = getIrisCtx();
  const counts = currentCounts(task);
  return {
    task,
    count: (name, amount = 1) => void counts.set(name, (counts.get(name) ?? 0) + amount),
    counters: () => sorted(counts),
  };
}

/** Runs work with counts of its own. */
export async function counted<R>(work: () => R | Promise<R>): Promise<{ readonly value: R; readonly counters: Counters }> {
  const counts = new Map<string, number>();
  const value = await ofItem.run(counts, work);
  return { value, counters: sorted(counts) };
}

/** The sum of counts. */
export function addCounters(a: Counters, b: Counters): Counters {
  const sum = new Map(Object.entries(a));
  for (const [name, amount] of Object.entries(b)) sum.set(name, (sum.get(name) ?? 0) + amount);
  return sorted(sum);
}

function currentCounts(task: IrisContext | undefined): Map<string, number> {
  const item = ofItem.getStore();
  if (item !== undefined) return item;
  if (task === undefined) return ofProcess;
  const known = ofTask.get(task);
  if (known !== undefined) return known;
  const counts = new Map<string, number>();
  ofTask.set(task, counts);
  return counts;
}

function sorted(counts: ReadonlyMap<string, number>): Counters {
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}
