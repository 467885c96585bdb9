import fc from "fast-check";
import { expect, test } from "vitest";
import { ManualClock } from "./clock.js";
import { Deadline } from "./deadline.js";
import { seededRandom } from "./random.js";
import { type RetryOptions, backoff, retry } from "./retry.js";

const passes = (): boolean => true;

function options(clock: ManualClock, more: Partial<RetryOptions> = {}): RetryOptions {
  return { retryIf: passes, clock, backoff: { random: seededRandom(1) }, ...more };
}

/** Work that fails so often, then succeeds. */
function failing(times: number, error: unknown = new Error("down")): (attempt: number) => Promise<number> {
  return (attempt) => (attempt <= times ? Promise.reject(error as Error) : Promise.resolve(attempt));
}

test("the n-th wait lies in [(1 - jitter) w, w] with w = min(max, initial factor^n), and the same seed gives the same waits", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000 }), fc.double({ min: 1, max: 10, noNaN: true }), fc.integer({ min: 0, max: 100_000 }), fc.double({ min: 0, max: 1, noNaN: true }), fc.integer(), (initialMs, factor, maxMs, jitter, seed) => {
      const waits = backoff({ initialMs, factor, maxMs, jitter, random: seededRandom(seed) });
      const again = backoff({ initialMs, factor, maxMs, jitter, random: seededRandom(seed) });
      for (let n = 0; n < 40; n++) {
        const most = Math.min(maxMs, initialMs * factor ** n);
        const wait = waits.next().value;
        expect(wait).toBe(again.next().value);
        expect(wait).toBeGreaterThanOrEqual(most * (1 - jitter) * (1 - 1e-9));
        expect(wait).toBeLessThanOrEqual(most * (1 + 1e-9));
      }
    }),
  );
  for (const bad of [{ initialMs: -1 }, { factor: 0.5 }, { jitter: 2 }, { maxMs: NaN }]) expect(() => backoff(bad).next()).toThrow(expect.objectContaining({ code: "RIGGING_BAD_OPTION" }) as Error);
});

test("work is tried until it succeeds, at most so often, and the last error is the one thrown", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 1, max: 8 }), async (failures, attempts) => {
      const clock = new ManualClock({ jumps: true });
      const delays: number[] = [];
      let tries = 0;
      const error = new Error("down");
      const result: unknown = await retry((attempt) => (tries++, failing(failures, error)(attempt)), options(clock, { attempts, onRetry: ({ delayMs }) => void delays.push(delayMs) })).catch((thrown: unknown) => thrown);
      expect(tries).toBe(Math.min(failures + 1, attempts));
      expect(result).toBe(failures < attempts ? failures + 1 : error);
      expect(clock.monotonic()).toBeCloseTo(delays.reduce((sum, delay) => sum + delay, 0), 6);
    }),
    { numRuns: 50 },
  );
});

test("an error that does not pass is thrown at once, and so is one whose wait would end after the deadline", async () => {
  const clock = new ManualClock({ jumps: true });
  const error = new Error("no such bucket");
  await expect(retry(failing(9, error), options(clock, { retryIf: () => false }))).rejects.toBe(error);
  await expect(retry(failing(9, error), options(clock, { attempts: Infinity, deadline: Deadline.after(5000, clock) }))).rejects.toBe(error);
  expect(clock.monotonic()).toBeLessThan(5000);
  expect(clock.monotonic()).toBeGreaterThan(500);
  await expect(retry(failing(0), options(clock, { attempts: 0 }))).rejects.toMatchObject({ code: "RIGGING_BAD_OPTION" });
});

test("a server's own wait counts when it is the longer one", async () => {
  const clock = new ManualClock({ jumps: true });
  expect(await retry(failing(1), options(clock, { minDelayMs: () => 7000 }))).toBe(2);
  expect(clock.monotonic()).toBe(7000);
});

test("an abort ends the wait and the tries, with the signal's reason", async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const reason = new Error("stop");
  let tries = 0;
  const done = retry(() => (tries++, Promise.reject(new Error("down"))), options(clock, { signal: controller.signal, onRetry: () => setImmediate(() => controller.abort(reason)) }));
  await expect(done).rejects.toBe(reason);
  expect([tries, clock.sleeping]).toEqual([1, 0]);
  await expect(retry(() => (tries++, Promise.resolve()), options(clock, { signal: controller.signal }))).rejects.toBe(reason);
  expect(tries).toBe(1);
});

test("seeded numbers are those of mulberry32, spread evenly", () => {
  // Reference values of the published algorithm for seed 1, computed with BigInt arithmetic.
  const reference = (seed: bigint, count: number): number[] => {
    const [mask, mul] = [0xffffffffn, (a: bigint, b: bigint): bigint => (a * b) & 0xffffffffn];
    let state = seed;
    return Array.from({ length: count }, () => {
      state = (state + 0x6d2b79f5n) & mask;
      let t = mul(state ^ (state >> 15n), state | 1n);
      t = (t ^ ((t + mul(t ^ (t >> 7n), t | 61n)) & mask)) & mask;
      return Number(t ^ (t >> 14n)) / 2 ** 32;
    });
  };
  for (const seed of [0, 1, 2 ** 32 - 1]) {
    const random = seededRandom(seed);
    expect(Array.from({ length: 100 }, random)).toEqual(reference(BigInt(seed), 100));
  }
});
