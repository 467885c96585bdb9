import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";

/** How long a condition may take: what a loaded machine needs, many times over. */
const patienceMs = 60_000;

/** The error that work fails with, which must have the code. */
export async function failure(work: PromiseLike<unknown>, code: string): Promise<Error & { readonly code: string; readonly data: Readonly<Record<string, unknown>> }> {
  const nothing = Symbol("nothing");
  const thrown: unknown = await Promise.resolve(work).then(() => nothing, (error: unknown) => error);
  assert.notEqual(thrown, nothing, `it did not fail with ${code}`);
  assert.equal((thrown as { readonly code?: string }).code, code, String(thrown));
  return thrown as Error & { readonly code: string; readonly data: Readonly<Record<string, unknown>> };
}

/** Waits until a condition holds. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  const givesUpAt = performance.now() + patienceMs;
  while (!(await condition())) {
    assert.ok(performance.now() < givesUpAt, `it did not become so within ${patienceMs} ms`);
    await setTimeout(5);
  }
}

/** All items. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
