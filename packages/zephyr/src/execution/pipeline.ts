import { MarinError } from "@marin/iris";
import { compileExpr } from "../expr/evaluate.js";
import type { ShardNumber, StageOp } from "../plan/stage.js";
import { resolveWork, type WorkFunction } from "../plan/work.js";
import { isSampled } from "./sample.js";
import { Turns } from "./turns.js";

/** Stands for an item that is left out. */
const left = Symbol("left out");

/** Makes of an item another one, or {@link left}; or a promise of it. */
type Step = (item: unknown) => unknown;

/** Operations that make at most one item of each: they run in one loop. */
interface Segment {
  readonly steps: readonly Step[];
  /** Items that are still to come through the narrowest `takePerShard`; 0: the source need not be asked again. */
  readonly limits: readonly { readonly left: () => number }[];
}

/** A shard's records with operations applied, each of which sees its items one at a time. Closes the source, however it ends. */
export async function runOps(source: AsyncIterable<unknown>, ops: readonly StageOp[], numbers: readonly ShardNumber[], signal: AbortSignal | undefined): Promise<AsyncIterable<unknown>> {
  let items = source;
  let segment: StageOp[] = [];
  let from = 0;
  const endSegment = async (before: number): Promise<void> => {
    if (segment.length > 0) items = fused(items, await segmentOf(segment, (place) => numberAt(numbers, from + place)), signal);
    segment = [];
    from = before + 1;
  };
  for (const [place, op] of ops.entries()) {
    switch (op.kind) {
      case "flatMap":
        await endSegment(place);
        items = flattened(items, await resolveWork(op.work), signal);
        break;
      case "mapShard": {
        await endSegment(place);
        const { shard, shards } = numberAt(numbers, place);
        items = replaced(items, await resolveWork(op.work), { shard, shards }, signal);
        break;
      }
      case "fold":
        await endSegment(place);
        items = folded(items, await resolveWork(op.work));
        break;
      case "batch":
        await endSegment(place);
        items = batched(items, op.size);
        break;
      case "window":
        await endSegment(place);
        items = windowed(items, op.initial, await resolveWork(op.fold));
        break;
      default:
        segment.push(op);
    }
  }
  await endSegment(ops.length);
  return items;
}

function numberAt(numbers: readonly ShardNumber[], place: number): ShardNumber {
  return numbers.findLast(({ from }) => from <= place) ?? { from: 0, shard: 0, shards: 1 };
}

async function segmentOf(ops: readonly StageOp[], numberOf: (place: number) => ShardNumber): Promise<Segment> {
  const steps: Step[] = [];
  const limits: { readonly left: () => number }[] = [];
  for (const [place, op] of ops.entries()) {
    switch (op.kind) {
      case "map":
        steps.push(mapStep(await resolveWork(op.work)));
        break;
      case "filter":
        steps.push("expr" in op ? exprStep(compileExpr(op.expr)) : filterStep(await resolveWork(op.work)));
        break;
      case "select":
        steps.push(selectStep(op.columns));
        break;
      case "sample": {
        let index = 0;
        const { shard } = numberOf(place);
        steps.push((item) => (isSampled(op, shard, index++) ? item : left));
        break;
      }
      case "takePerShard": {
        let remaining = op.count;
        limits.push({ left: () => remaining });
        steps.push((item) => {
          remaining -= 1;
          return item;
        });
        break;
      }
      default:
        throw new TypeError(`${op.kind} makes many items of one`);
    }
  }
  return { steps, limits };
}

async function* fused(items: AsyncIterable<unknown>, { steps, limits }: Segment, signal: AbortSignal | undefined): AsyncGenerator<unknown> {
  const ended = (): boolean => limits.some((limit) => limit.left() === 0);
  if (ended()) return;
  const turns = new Turns(signal);
  for await (const item of items) {
    if (turns.isOver()) await turns.next();
    let value: unknown = item;
    for (const step of steps) {
      value = step(value);
      if (isPromise(value)) value = await value;
      if (value === left) break;
    }
    if (value !== left) yield value;
    if (limits.length > 0 && ended()) return;
  }
}

function mapStep(work: WorkFunction): Step {
  let index = 0;
  return (item) => work(item, index++);
}

function filterStep(work: WorkFunction): Step {
  let index = 0;
  return (item) => {
    const keep = work(item, index++);
    if (isPromise(keep)) return keep.then((kept) => (kept ? item : left));
    return keep === true || Boolean(keep) ? item : left;
  };
}

function exprStep(evaluate: (row: unknown) => unknown): Step {
  // Null is neither true nor false: such a row is not kept.
  return (item) => (evaluate(item) === true ? item : left);
}

function selectStep(columns: readonly string[]): Step {
  return (item) => {
    const record = item as Readonly<Record<string, unknown>>;
    const selected: Record<string, unknown> = {};
    for (const column of columns) if (Object.hasOwn(record, column)) selected[column] = record[column];
    return selected;
  };
}

async function* flattened(items: AsyncIterable<unknown>, work: WorkFunction, signal: AbortSignal | undefined): AsyncGenerator<unknown> {
  let index = 0;
  const turns = new Turns(signal);
  for await (const item of items) {
    if (turns.isOver()) await turns.next();
    const expanded = work(item, index++);
    const inner = manyItems("flatMap() or mapBatches", isPromise(expanded) ? await expanded : expanded);
    if (isAsync(inner)) yield* inTurns(inner, turns);
    else {
      for (const each of inner) {
        if (turns.isOver()) await turns.next();
        yield each;
      }
    }
  }
}

async function* inTurns(items: Iterable<unknown> | AsyncIterable<unknown>, turns: Turns): AsyncGenerator<unknown> {
  for await (const each of items) {
    if (turns.isOver()) await turns.next();
    yield each;
  }
}

async function* replaced(items: AsyncIterable<unknown>, work: WorkFunction, info: { readonly shard: number; readonly shards: number }, signal: AbortSignal | undefined): AsyncGenerator<unknown> {
  yield* inTurns(manyItems("mapShard", await work(items, info)), new Turns(signal));
}

/** What a function has given, as the items that it should be. @throws MarinError ZEPHYR_NO_ITEMS */
function manyItems(operation: string, given: unknown): Iterable<unknown> | AsyncIterable<unknown> {
  const items = given as (Partial<Iterable<unknown>> & Partial<AsyncIterable<unknown>>) | null | undefined;
  if (typeof items?.[Symbol.asyncIterator] === "function" || typeof items?.[Symbol.iterator] === "function") return given as Iterable<unknown> | AsyncIterable<unknown>;
  const found = given === null ? "null" : given === undefined ? "nothing" : typeof given;
  throw new MarinError("ZEPHYR_NO_ITEMS", `The function of ${operation}() returned ${found} where items are needed: an array, a generator, a dataset; [] for none.`, { data: { found } });
}

function isAsync(items: Iterable<unknown> | AsyncIterable<unknown>): items is AsyncIterable<unknown> {
  return typeof (items as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === "function";
}

async function* folded(items: AsyncIterable<unknown>, work: WorkFunction): AsyncGenerator<unknown> {
  yield await work(items);
}

async function* batched(items: AsyncIterable<unknown>, size: number): AsyncGenerator<unknown[]> {
  let batch: unknown[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function* windowed(items: AsyncIterable<unknown>, initial: unknown, fold: WorkFunction): AsyncGenerator<unknown[]> {
  let window: unknown[] = [];
  let state = initial;
  const step = async (item: unknown): Promise<{ fits: boolean; state: unknown }> => (await fold(state, item)) as { fits: boolean; state: unknown };
  for await (const item of items) {
    let next = await step(item);
    if (!next.fits && window.length > 0) {
      yield window;
      window = [];
      state = initial;
      next = await step(item);
    }
    window.push(item);
    ({ state } = next);
  }
  if (window.length > 0) yield window;
}

/** Whether it has to be waited for. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { readonly then?: unknown }).then === "function";
}
