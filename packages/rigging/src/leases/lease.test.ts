import { MarinError } from "@marin/ducky";
import { expect, test } from "vitest";
import { ownIdentity } from "../process-identity.js";
import { createStorage } from "../storage/create.js";
import type { Storage } from "../storage/storage.js";
import { ManualClock } from "../time/clock.js";
import { readFenced, writeFenced } from "./fenced.js";
import { acquireLease, type LeaseOptions, withLease } from "./lease.js";
import { decodeRecord, encodeRecord } from "./record.js";

const path = "memory://lease";

function setting(): { readonly storage: Storage; readonly clock: ManualClock; readonly options: LeaseOptions } {
  const [storage, clock] = [createStorage(), new ManualClock()];
  return { storage, clock, options: { storage, clock, ttlMs: 1000, refreshMs: 300 } };
}

/** Moves the clock until the promise is settled, or the time is over. */
async function passing<T>(clock: ManualClock, promise: Promise<T>, milliseconds = 60_000): Promise<T> {
  let isSettled = false;
  const settled = (): void => void (isSettled = true);
  promise.then(settled, settled);
  for (let at = 0; at < milliseconds && !isSettled; at += 50) await clock.advance(50);
  return promise;
}

test("one has it, the next gets it when it is given back; tokens rise", async () => {
  const { clock, options } = setting();
  const tokens: number[] = [];
  let inside = 0;
  const work = async (_: AbortSignal, token: number): Promise<void> => {
    expect((inside += 1)).toBe(1);
    tokens.push(token);
    await clock.sleep(700);
    inside -= 1;
  };
  await passing(clock, Promise.all(Array.from({ length: 5 }, () => withLease(path, work, options))));
  expect(tokens).toEqual([1, 2, 3, 4, 5]);
  expect(clock.sleeping).toBe(0);
});

test("who does not wait is told who holds it", async () => {
  const { options } = setting();
  await using lease = await acquireLease(path, { ...options, holder: "the night run" });
  expect(lease.token).toBe(1);
  await expect(acquireLease(path, { ...options, timeoutMs: 0 })).rejects.toMatchObject({ code: "RIGGING_LEASE_HELD", data: { path, holder: "the night run", token: 1 } });
});

test("it is refreshed: a waiter waits as long as the holder lives", async () => {
  const { clock, options } = setting();
  const lease = await acquireLease(path, options);
  const waiting = acquireLease(path, options);
  await clock.advance(10_000);
  expect(lease.signal.aborted).toBe(false);
  await lease.release();
  const next = await passing(clock, waiting);
  expect(next.token).toBe(2);
  await next.release();
});

test("a holder that cannot refresh aborts its work before another begins; the work's result does not count", async () => {
  const { storage, clock, options } = setting();
  let isCut = false;
  const cut: Storage = Object.assign(Object.create(storage) as Storage, {
    writeIf: (...given: Parameters<Storage["writeIf"]>) => (isCut ? new Promise<never>(() => undefined) : storage.writeIf(...given)),
    readVersioned: (...given: Parameters<Storage["readVersioned"]>) => storage.readVersioned(...given),
  });
  let abortedAt = 0;
  const first = withLease(
    path,
    async (signal) => {
      isCut = true;
      await clock.sleep(5000, signal).catch(() => (abortedAt = clock.monotonic()));
      return "done";
    },
    { ...options, storage: cut },
  );
  const failure = expect(passing(clock, first)).rejects.toMatchObject({ code: "RIGGING_LEASE_LOST", data: { path, token: 1 } });
  const second = acquireLease(path, options).then((lease) => ({ lease, at: clock.monotonic() }));
  await failure;
  const { lease, at } = await passing(clock, second);
  expect(lease.token).toBe(2);
  expect(abortedAt).toBeGreaterThan(0);
  expect(abortedAt).toBeLessThan(at);
  await lease.release();
});

test("a refresh whose answer is lost, and that cannot be looked after at once, is no loss", async () => {
  const { storage, clock, options } = setting();
  let isDown = false;
  const unavailable = (mayHaveBeenWritten: boolean): MarinError => new MarinError("RIGGING_STORAGE_UNAVAILABLE", "down", { data: { mayHaveBeenWritten } });
  const shaky: Storage = Object.assign(Object.create(storage) as Storage, {
    readVersioned: (...given: Parameters<Storage["readVersioned"]>) => (isDown ? Promise.reject(unavailable(false)) : storage.readVersioned(...given)),
    writeIf: async (...given: Parameters<Storage["writeIf"]>) => {
      const version = await storage.writeIf(...given);
      if (isDown) throw unavailable(true);
      return version;
    },
  });
  const lease = await acquireLease(path, { ...options, storage: shaky });
  isDown = true;
  await clock.advance(310);
  isDown = false;
  await clock.advance(5000);
  expect(lease.signal.aborted).toBe(false);
  await lease.release();
});

test("a lease that another took is lost at the next refresh, and a late writer is refused", async () => {
  const { storage, clock, options } = setting();
  const lease = await acquireLease(path, options);
  await writeFenced("memory://state", "by the first", lease.token, { storage });
  // As if this process had stood still for longer than the lease's time.
  const found = await storage.readVersioned(path);
  const record = decodeRecord(path, found?.content ?? new Uint8Array());
  await storage.writeIf(path, encodeRecord({ ...record, token: 2, term: "another" }), { version: found?.version });
  await writeFenced("memory://state", "by the second", 2, { storage });
  await expect(writeFenced("memory://state", "late", lease.token, { storage })).rejects.toMatchObject({ code: "RIGGING_FENCED", data: { token: 1, newest: 2 } });
  await clock.advance(300);
  expect(lease.signal.aborted).toBe(true);
  expect(lease.signal.reason).toMatchObject({ code: "RIGGING_LEASE_LOST" });
  await expect(lease.release()).rejects.toMatchObject({ code: "RIGGING_LEASE_LOST" });
  const state = await readFenced("memory://state", storage);
  expect({ ...state, content: Buffer.from(state?.content ?? []).toString() }).toEqual({ content: "by the second", token: 2 });
});

test("the lease of a process of this machine that is gone is free at once", async () => {
  const { storage, options } = setting();
  const owner = { ...ownIdentity(), pid: 2 ** 22 + 1 };
  await storage.write(path, encodeRecord({ token: 7, term: "t", owner, holder: "gone", ttlMs: 1e9, refreshes: 3, released: false }));
  const lease = await acquireLease(path, { ...options, timeoutMs: 0 });
  expect(lease.token).toBe(8);
  await lease.release();
});

test("an abort ends the wait, and the work of a holder; what the work throws comes through", async () => {
  const { options } = setting();
  const lease = await acquireLease(path, options);
  const controller = new AbortController();
  const waiting = acquireLease(path, { ...options, signal: controller.signal });
  controller.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await lease.release();
  const stop = new AbortController();
  const working = withLease(path, (signal) => (stop.abort(new Error("stop")), Promise.reject(signal.reason as Error)), { ...options, signal: stop.signal });
  await expect(working).rejects.toThrow("stop");
  await expect(withLease(path, () => Promise.reject(new Error("boom")), options)).rejects.toThrow("boom");
});

test("what is no lease is not taken for one; stores without conditions and bad times are refused", async () => {
  const { storage, options } = setting();
  await storage.write(path, "hello");
  await expect(acquireLease(path, options)).rejects.toMatchObject({ code: "RIGGING_BAD_LEASE" });
  await expect(writeFenced(path, "x", 1, { storage })).rejects.toMatchObject({ code: "RIGGING_NOT_FENCED" });
  await expect(acquireLease("memory://other", { ...options, refreshMs: 2000 })).rejects.toMatchObject({ code: "RIGGING_BAD_OPTION" });
});
