import fc from "fast-check";
import { expect, test } from "vitest";
import { ManualClock } from "./clock.js";
import { RateLimiter, TokenBucket } from "./token-bucket.js";

test("in any time t at most capacity + rate t is taken, in turn, and no wait is longer than it must be", async () => {
  const request = fc.record({ gapMs: fc.integer({ min: 0, max: 2000 }), amount: fc.integer({ min: 0, max: 10 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 100 }), async (requests, refillPerSecond) => {
      const clock = new ManualClock();
      const bucket = new TokenBucket({ capacity: 10, refillPerSecond, clock });
      const taken: { index: number; at: number; amount: number }[] = [];
      const waits: Promise<void>[] = [];
      // A model of the bucket: the earliest moment at which each request, in turn, can be served.
      const expected: number[] = [];
      let [level, at] = [10, 0];
      for (const [index, { gapMs, amount }] of requests.entries()) {
        await clock.advance(gapMs);
        waits.push(bucket.take(amount).then(() => void taken.push({ index, at: clock.monotonic(), amount })));
        const start = Math.max(at, clock.monotonic());
        level = Math.min(10, level + ((start - at) * refillPerSecond) / 1000);
        const wait = Math.max(0, ((amount - level) * 1000) / refillPerSecond);
        level = Math.min(10, level + (wait * refillPerSecond) / 1000) - amount;
        at = start + wait;
        expected.push(at);
      }
      await clock.advance(1_000_000);
      await Promise.all(waits);
      expect(taken.map(({ index }) => index)).toEqual(requests.map((_, index) => index));
      for (const [index, { at: servedAt }] of taken.entries()) {
        expect(servedAt).toBeGreaterThanOrEqual((expected[index] ?? 0) - 1e-3);
        expect(servedAt).toBeLessThanOrEqual((expected[index] ?? 0) + 1 + index);
      }
      for (const [first, from] of taken.entries()) {
        let sum = 0;
        for (const to of taken.slice(first)) {
          sum += to.amount;
          expect(sum).toBeLessThanOrEqual(10 + (refillPerSecond * (to.at - from.at)) / 1000 + 1e-6);
        }
      }
    }),
    { numRuns: 40 },
  );
});

test("tryTake takes at once or not at all, and does not overtake", async () => {
  const clock = new ManualClock();
  const bucket = new TokenBucket({ capacity: 2, refillPerSecond: 1, clock });
  expect([bucket.tryTake(2), bucket.tryTake(1)]).toEqual([true, false]);
  const waiting = bucket.take(2);
  await clock.advance(1500);
  expect([bucket.available, bucket.tryTake(1)]).toEqual([1.5, false]);
  await clock.advance(500);
  await waiting;
  expect(bucket.available).toBe(0);
  const badOption = expect.objectContaining({ code: "RIGGING_BAD_OPTION" }) as Error;
  expect(() => bucket.tryTake(3)).toThrow(badOption);
  await expect(bucket.take(NaN)).rejects.toThrow(badOption);
  expect(() => new TokenBucket({ capacity: 0, refillPerSecond: 1 })).toThrow(badOption);
});

test("who gives up is told at once and takes nothing; those behind move up", async () => {
  const clock = new ManualClock();
  const bucket = new TokenBucket({ capacity: 1, refillPerSecond: 1, clock });
  expect(bucket.tryTake()).toBe(true);
  const first = bucket.take();
  const controller = new AbortController();
  const second = bucket.take(1, { signal: controller.signal });
  const third = bucket.take();
  const reason = new Error("stop");
  controller.abort(reason);
  await expect(second).rejects.toBe(reason);
  await expect(bucket.take(1, { signal: controller.signal })).rejects.toBe(reason);
  await clock.advance(2000);
  await Promise.all([first, third]);
  expect(bucket.available).toBe(0);
  await clock.advance(1000);
  expect(bucket.tryTake()).toBe(true);
});

test("a rate limiter says yes once an interval, and how often it said no", async () => {
  const clock = new ManualClock();
  const limiter = new RateLimiter(100, clock);
  const answers: unknown[] = [];
  for (let ms = 0; ms < 250; ms += 50) {
    answers.push(limiter.ready());
    await clock.advance(50);
  }
  expect(answers).toEqual([{ skipped: 0 }, undefined, { skipped: 1 }, undefined, { skipped: 1 }]);
});
