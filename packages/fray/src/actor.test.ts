import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { entry, LocalClient, type ActorHandle, type ActorOptions } from "./index.js";
import type * as actors from "../test/actors.js";

const module = new URL("../test/actors.ts", import.meta.url);
const counterEntry = entry<typeof actors.Counter>(module, "Counter");

const client = new LocalClient({ name: "tested" });
afterAll(() => client.shutdown());

let last = 0;
const name = (): string => `actor-${++last}`;
const quiet = { onStderr: () => undefined };

async function counter(kind: "process" | "thread", start = 0, options: Partial<ActorOptions> = {}): Promise<ActorHandle<actors.Counter>> {
  return client.createActor(counterEntry, [start], { kind, name: name(), ...quiet, ...options });
}

const failure = (work: PromiseLike<unknown>): Promise<unknown> => Promise.resolve(work).then(() => "it did not fail", (error: unknown) => error);

describe.each(["process", "thread"] as const)("an actor in a %s", (kind) => {
  test("keeps its state; calls run one at a time in order; errors come through", async () => {
    const actor = await counter(kind, 10);
    expect(await Promise.all([actor.add(1, 5), actor.add(2), actor.add(3, 1), actor.get()])).toEqual([11, 13, 16, 16]);
    expect(await actor.log()).toEqual(["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]);
    expect(await failure(actor.fail())).toMatchObject({ message: "as told", code: "ETOLD" });
    expect(Object.keys(actor).sort()).toEqual(["add", "die", "exit", "fail", "get", "log", "untilAborted", "upTo"]);
  });

  test("streams, can be used while a stream is read, and learns when the reader leaves", async () => {
    const actor = await counter(kind);
    const seen: number[] = [];
    for await (const n of actor.with({ streamWindow: 1 }).upTo(4)) {
      seen.push(n);
      await actor.add(10);
    }
    expect(seen).toEqual([0, 11, 22, 33]);
    for await (const n of actor.upTo(1e9)) if (n > 1_000) break;
    await expect.poll(async () => (await actor.log()).filter((line) => line === "stream closed").length).toBe(2);
  });

  test("a call that is cancelled before its turn does not run; one under way learns of it", async () => {
    const actor = await counter(kind);
    const first = actor.untilAborted();
    const second = actor.add(100);
    second.cancel();
    expect(await failure(second)).toMatchObject({ code: "FRAY_CANCELLED" });
    first.cancel();
    expect(await failure(first)).toMatchObject({ code: "FRAY_CANCELLED" });
    expect(await actor.get()).toBe(0);
    expect(await failure(actor.with({ timeoutMs: 30 }).untilAborted())).toMatchObject({ code: "FRAY_TIMEOUT", data: { timeoutMs: 30, ran: "unknown" } });
    expect(await actor.log()).toContainEqual(expect.stringMatching(/^aborted: untilAborted of The actor .* has not answered within 30 ms/));
  });

  test("a dead actor is unavailable, for calls under way and all later ones", async () => {
    const actor = await counter(kind);
    const under = kind === "process" ? actor.die() : actor.exit();
    expect(await failure(under)).toMatchObject({ code: "FRAY_ACTOR_UNAVAILABLE", cause: { code: "FRAY_WORKER_LOST" }, data: { state: "dead", ran: "unknown", ...(kind === "process" ? { signal: "SIGKILL" } : { code: 9 }) } });
    expect(await failure(actor.get())).toMatchObject({ code: "FRAY_ACTOR_UNAVAILABLE", data: { state: "dead", ran: "no" } });
    expect(await failure(actor.with({ idempotent: true }).get())).toMatchObject({ code: "FRAY_ACTOR_UNAVAILABLE" });
    expect(await failure(actor.upTo(1).next())).toMatchObject({ code: "FRAY_ACTOR_UNAVAILABLE" });
  });

  test("a function may make it; what cannot be one is refused", async () => {
    const make = <T>(name_: string, args: unknown[]) => client.createActor(entry(module, name_), args, { kind, name: name() }) as Promise<ActorHandle<T>>;
    const greeter = await client.createActor(entry<typeof actors.makeGreeter>(module, "makeGreeter"), ["Hello"], { kind, name: name() });
    expect(await greeter.greet("you")).toBe("Hello, you");
    await greeter[Symbol.asyncDispose]();
    expect(await failure(greeter.greet("you"))).toMatchObject({ code: "FRAY_ACTOR_UNAVAILABLE", data: { state: "stopped", ran: "no" } });
    expect(await failure(make("Thenable", []))).toMatchObject({ code: "FRAY_BAD_ACTOR", message: expect.stringContaining('"then"') });
    expect(await failure(make("makeNothing", []))).toMatchObject({ code: "FRAY_BAD_ACTOR" });
    expect(await failure(make("Counter", [-1]))).toMatchObject({ name: "RangeError", message: "start must not be negative" });
  });
});

test("an actor whose worker lives and cannot be reached any more is lost, and made anew", async () => {
  const actor = await client.createActor(entry<typeof actors.Unreachable>(module, "Unreachable"), [], { kind: "thread", name: name(), restarts: 1, ...quiet });
  expect(await failure(actor.cut())).toMatchObject({ code: "FRAY_ACTOR_UNAVAILABLE", data: { ran: "unknown" } });
  expect(await actor.with({ idempotent: true }).here()).toBe(true);
  expect(actor.actor.incarnation).toBe(2);
});

test.each([{ mailboxLimit: -1 }, { restarts: NaN }, { restartDelayMs: -1 }, { maxConcurrency: 0 }])("%o is no setting of an actor", async (options) => {
  expect(await failure(counter("thread", 0, options))).toMatchObject({ code: "FRAY_BAD_OPTION", data: { option: Object.keys(options)[0] } });
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
