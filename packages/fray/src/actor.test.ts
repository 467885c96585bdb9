import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { createActor, entry, type ActorHandle } from "./index.js";
import type * as actors from "../test/actors.js";

const module = new URL("../test/actors.ts", import.meta.url);
const counterEntry = entry<typeof actors.Counter>(module, "Counter");

const open: AsyncDisposable[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((actor) => actor[Symbol.asyncDispose]()));
});

async function counter(kind: "process" | "thread", start = 0): Promise<ActorHandle<actors.Counter>> {
  const actor = await createActor(counterEntry, [start], { kind, name: "counter", onStderr: () => undefined });
  open.push(actor);
  return actor;
}

const failure = (work: PromiseLike<unknown>): Promise<unknown> => Promise.resolve(work).then(() => "it did not fail", (error: unknown) => error);

describe.each(["process", "thread"] as const)("an actor in a %s", (kind) => {
  test("keeps its state; calls run one at a time in order; errors come through", async () => {
    const actor = await counter(kind, 10);
    expect(await Promise.all([actor.add(1, 5), actor.add(2), actor.add(3, 1), actor.get()])).toEqual([11, 13, 16, 16]);
    expect(await actor.log()).toEqual(["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]);
    expect(await failure(actor.fail())).toMatchObject({ message: "as told", code: "ETOLD" });
    expect(Object.keys(actor).sort()).toEqual(["add", "die", "exit", "fail", "get", "log", "upTo"]);
  });

  test("streams, can be used while a stream is read, and learns when the reader leaves", async () => {
    const actor = await counter(kind);
    const seen: number[] = [];
    for await (const n of actor.upTo(4)) {
      seen.push(n);
      await actor.add(10);
    }
    expect(seen).toEqual([0, 11, 22, 33]);
    for await (const n of actor.upTo(1e9)) if (n > 42) break;
    expect((await actor.log()).filter((line) => line === "stream closed")).toHaveLength(2);
  });

  test("a call that is cancelled before its turn does not run", async () => {
    const actor = await counter(kind);
    const first = actor.add(1, 50);
    const second = actor.add(100);
    second.cancel();
    expect(await failure(second)).toMatchObject({ code: "FRAY_CANCELLED" });
    expect(await first).toBe(1);
    expect(await actor.get()).toBe(1);
  });

  test("a dead actor is unavailable, for calls under way and all later ones", async () => {
    const actor = await counter(kind);
    const under = kind === "process" ? actor.die() : actor.exit();
    expect(await failure(under)).toMatchObject({ code: "FRAY_ACTOR_UNAVAILABLE", cause: { code: "FRAY_WORKER_LOST" }, data: kind === "process" ? { signal: "SIGKILL" } : { code: 9 } });
    expect(await failure(actor.get())).toMatchObject({ code: "FRAY_ACTOR_UNAVAILABLE" });
    expect(await failure(actor.upTo(1).next())).toMatchObject({ code: "FRAY_ACTOR_UNAVAILABLE" });
  });

  test("a function may make it; what cannot be one is refused", async () => {
    const make = <T>(name: string, args: unknown[]) => createActor(entry(module, name), args, { kind, name }) as Promise<ActorHandle<T>>;
    const greeter = await createActor(entry<typeof actors.makeGreeter>(module, "makeGreeter"), ["Hello"], { kind, name: "greeter" });
    open.push(greeter);
    expect(await greeter.greet("you")).toBe("Hello, you");
    expect(await failure(make("Thenable", []))).toMatchObject({ code: "FRAY_BAD_ACTOR" });
    expect(await failure(make("makeNothing", []))).toMatchObject({ code: "FRAY_BAD_ACTOR" });
    expect(await failure(make("Counter", [-1]))).toMatchObject({ name: "RangeError", message: "start must not be negative" });
  });
});

test("any sequence of calls gives what the object itself would give", async () => {
  const actor = await counter("thread");
  let value = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ n: fc.integer({ min: -9, max: 9 }), turns: fc.nat(3) }), { maxLength: 12 }), async (calls) => {
      const expected = calls.map(({ n }) => (value += n));
      expect(await Promise.all(calls.map(({ n, turns }) => actor.add(n, turns)))).toEqual(expected);
    }),
    { numRuns: 30 },
  );
});
