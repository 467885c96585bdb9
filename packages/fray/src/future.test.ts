import { expect, test } from "vitest";
import { Future } from "./future.js";

/** A promise that the test settles. */
function gate<T>(): { readonly promise: Promise<T>; readonly open: (value: T) => void } {
  let open: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => (open = resolve));
  return { promise, open };
}

test("a result, synchronous or not, is awaited as from a promise", async () => {
  expect(await Future.run(() => 1)).toBe(1);
  const { promise, open } = gate<string>();
  const future = Future.run(() => promise);
  expect(future.state).toBe("pending");
  open("done");
  expect(await future).toBe("done");
  expect(await future.then((value) => value.length)).toBe(4);
  expect(future.state).toBe("fulfilled");
  expect(await Promise.all([future, Future.run(() => 2)])).toEqual(["done", 2]);
});

test("an error comes through unchanged, a thrown value as a cause", async () => {
  const boom = new Error("boom");
  const future = Future.run(() => Promise.reject(boom));
  await expect(future).rejects.toBe(boom);
  expect(future.state).toBe("rejected");
  await expect(
    Future.run(() => {
      throw boom;
    }),
  ).rejects.toBe(boom);
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what is tested
  await expect(Future.run(() => Promise.reject("text"))).rejects.toMatchObject({ code: "FRAY_THROWN_VALUE", cause: "text" });
});

test("it is caught and followed to its end as a promise is, and passes for one", async () => {
  const boom = new Error("boom");
  const told: string[] = [];
  expect(await Future.run(() => Promise.reject(boom)).catch((error: unknown) => error)).toBe(boom);
  expect(await Future.run(() => 1).catch(() => 2)).toBe(1);
  expect(await Future.run(() => 1).finally(() => told.push("one"))).toBe(1);
  await expect(Future.run(() => Promise.reject(boom)).finally(() => told.push("two"))).rejects.toBe(boom);
  expect(told).toEqual(["one", "two"]);
  const promise: Promise<number> = Future.run(() => 3);
  expect(await promise).toBe(3);
});

test("a cancelled future rejects at once, its task learns of it, and what the task still does is dropped", async () => {
  const { promise, open } = gate<number>();
  let seen: AbortSignal | undefined;
  const future = Future.run((signal) => {
    seen = signal;
    return promise;
  });
  const reason = new Error("no longer needed");
  expect(future.cancel(reason)).toBe(true);
  expect(future.cancel()).toBe(false);
  await expect(future).rejects.toMatchObject({ code: "FRAY_CANCELLED", cause: reason, message: "The work was cancelled: no longer needed." });
  expect(seen?.aborted).toBe(true);
  expect(seen?.reason).toBe(reason);
  open(5);
  await promise;
  expect(future.state).toBe("cancelled");
  await expect(future).rejects.toMatchObject({ code: "FRAY_CANCELLED" });
});

test("a cancelled future that nobody awaits, and whose task then fails, disturbs nobody", async () => {
  const unhandled: unknown[] = [];
  const listen = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", listen);
  try {
    Future.run((signal) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))))).cancel();
    Future.run(() => 1, { signal: AbortSignal.abort() });
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", listen);
  }
});

test("cancelling what is settled changes nothing", async () => {
  const future = Future.run(() => 1);
  await future;
  expect(future.cancel()).toBe(false);
  expect(await future).toBe(1);
  expect(future.state).toBe("fulfilled");
});

test("an outer signal cancels; one aborted already keeps the task from starting", async () => {
  const controller = new AbortController();
  const future = Future.run(() => new Promise<never>(() => undefined), { signal: controller.signal });
  controller.abort("shutting down");
  await expect(future).rejects.toMatchObject({ code: "FRAY_CANCELLED", cause: "shutting down" });
  let started = false;
  const late = Future.run(() => (started = true), { signal: controller.signal });
  await expect(late).rejects.toMatchObject({ code: "FRAY_CANCELLED" });
  expect(started).toBe(false);
});
