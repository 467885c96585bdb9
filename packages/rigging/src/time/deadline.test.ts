import { expect, test } from "vitest";
import { ManualClock, systemClock } from "./clock.js";
import { Deadline } from "./deadline.js";

const forever = (): Promise<never> => new Promise(() => undefined);

test("what is left of a deadline, by a clock that does not jump", async () => {
  const clock = new ManualClock({ startMs: 1_000_000 });
  const [near, far, never, dated] = [Deadline.after(100, clock), Deadline.after(200, clock), Deadline.after(Infinity, clock), Deadline.at(1_000_150, clock)];
  expect([near.remainingMs, far.remainingMs, never.remainingMs, dated.remainingMs]).toEqual([100, 200, Infinity, 150]);
  expect([near.earlier(far), far.earlier(near), never.earlier(near)]).toEqual([near, near, near]);
  await clock.advance(150);
  expect([near.expired, far.expired, never.expired, dated.expired]).toEqual([true, false, false, true]);
  expect([near.remainingMs, far.remainingMs]).toEqual([0, 50]);
});

test("guarded work ends at the deadline, whether or not it heeds its signal", async () => {
  const clock = new ManualClock();
  let seen: AbortSignal | undefined;
  const done = Deadline.after(100, clock).guard("reading the model", (signal) => ((seen = signal), forever()));
  const failure = expect(done).rejects.toMatchObject({ code: "RIGGING_TIMEOUT", data: { timeoutMs: 100 }, message: expect.stringContaining("reading the model") as string });
  await clock.advance(99);
  expect(seen?.aborted).toBe(false);
  await clock.advance(1);
  await failure;
  expect(seen?.aborted).toBe(true);
  await expect(Deadline.after(0, clock).guard("work", () => Promise.resolve(1))).rejects.toMatchObject({ code: "RIGGING_TIMEOUT" });
});

test("the caller's signal ends guarded work with its reason; work that ends leaves no timer and no listener", async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const reason = new Error("stop");
  const done = Deadline.after(100, clock).guard("work", forever, controller.signal);
  controller.abort(reason);
  await expect(done).rejects.toBe(reason);
  expect(await Deadline.after(100, clock).guard("work", () => Promise.resolve(7))).toBe(7);
  await expect(Deadline.after(100, clock).guard("work", () => Promise.reject(reason))).rejects.toBe(reason);
  expect(await Deadline.after(Infinity, clock).guard("work", () => Promise.resolve(8), new AbortController().signal)).toBe(8);
  expect(clock.sleeping).toBe(0);
});

test("the system's clock waits as long as it is told, and no longer than its signal", async () => {
  const before = systemClock.monotonic();
  await systemClock.sleep(20);
  expect(systemClock.monotonic() - before).toBeGreaterThanOrEqual(20);
  const controller = new AbortController();
  // Longer than Node's timers count, which would fire at once.
  const wait = systemClock.sleep(2 ** 40, controller.signal);
  const reason = new Error("stop");
  setImmediate(() => controller.abort(reason));
  await expect(wait).rejects.toBe(reason);
  await expect(systemClock.sleep(5, controller.signal)).rejects.toBe(reason);
  await systemClock.sleep(-1);
});

test("a manual clock wakes sleepers in the order of their times", async () => {
  const clock = new ManualClock();
  const woken: string[] = [];
  const sleeper = async (name: string, ms: number): Promise<void> => {
    await clock.sleep(ms);
    woken.push(`${name}@${String(clock.monotonic())}`);
  };
  void sleeper("late", 30);
  void sleeper("early", 10).then(() => sleeper("again", 10));
  await clock.advance(25);
  expect(woken).toEqual(["early@10", "again@20"]);
  await clock.advance(5);
  expect(woken.at(-1)).toBe("late@30");
});
