import { afterEach, describe, expect, test } from "vitest";
import { CutTransport } from "../test/cut-transport.js";
import { ActorCell } from "./actors/cell.js";
import type { ActorSnapshot } from "./actors/messages.js";
import { collect, failure } from "./conformance/expect.js";
import { Probe } from "./conformance/fixtures.js";
import { currentCall, entry, LocalClient, type ActorHandle } from "./index.js";
import type * as fixtures from "./conformance/fixtures.js";

const probe = entry<typeof fixtures.Probe>(new URL("./conformance/fixtures.ts", import.meta.url), "Probe");

const open: LocalClient[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.shutdown({ graceMs: 0 })));
});

/** An actor that is held back when it is told to, of a client at the other end of a line that can be cut. */
async function across(line: CutTransport): Promise<{ readonly far: ActorHandle<Held>; readonly held: Held }> {
  const [host, guest] = [new LocalClient({ name: "host" }), new LocalClient({ name: "guest", transports: [line] })];
  open.push(host, guest);
  const held = new Held();
  const near = await host.hostActor(held, { name: "held", maxConcurrency: 8 });
  await host.listen(line);
  return { far: await guest.getActor<Held>(near.actor.ref()), held };
}

class Held {
  readonly runs: string[] = [];
  release: () => void = () => undefined;

  async run(what: string): Promise<string> {
    this.runs.push(what);
    await new Promise<void>((resolve) => (this.release = resolve));
    return `${what} done`;
  }

  async *items(to: number): AsyncGenerator<number> {
    this.runs.push(`items ${to}`);
    for (let n = 0; n < to; n += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      yield n;
    }
  }

  failing(): never {
    this.runs.push("failing");
    throw new RangeError("as told");
  }
}

describe("when the line to an actor is cut,", () => {
  test("a call that is idempotent gets the answer of its first run, whether that has ended meanwhile or not", async () => {
    const line = new CutTransport();
    const { far, held } = await across(line);
    const first = far.with({ idempotent: true }).run("first");
    await expect.poll(() => held.runs).toEqual(["first"]);
    line.cut();
    await expect.poll(() => line.connections).toBe(2);
    held.release();
    expect(await first).toBe("first done");
    const second = far.with({ idempotent: true }).run("second");
    await expect.poll(() => held.runs).toEqual(["first", "second"]);
    line.cut();
    held.release();
    expect(await second).toBe("second done");
    expect(held.runs).toEqual(["first", "second"]);
    await expect(far.with({ idempotent: true }).failing()).rejects.toMatchObject({ name: "RangeError" });
    expect(held.runs).toEqual(["first", "second", "failing"]);
  });

  test("a call that is not fails with what is known, and is not made again", async () => {
    const line = new CutTransport();
    const { far, held } = await across(line);
    const call = far.run("once");
    await expect.poll(() => held.runs).toEqual(["once"]);
    line.cut();
    expect((await failure(call, "FRAY_ACTOR_UNAVAILABLE")).data).toMatchObject({ state: "unreachable", ran: "unknown", method: "run" });
    held.release();
    await far.failing().then(undefined, () => undefined);
    expect(held.runs).toEqual(["once", "failing"]);
  });

  test("a stream that is idempotent goes on where it was; one that is not fails after the items that came", async () => {
    const line = new CutTransport();
    const { far, held } = await across(line);
    const seen: number[] = [];
    for await (const n of far.with({ idempotent: true, streamWindow: 4 }).items(40)) {
      seen.push(n);
      if (n % 10 === 5) line.cut();
    }
    expect(seen).toEqual(Array.from({ length: 40 }, (_, n) => n));
    expect(held.runs).toEqual(Array(5).fill("items 40"));
    const stream = far.with({ streamWindow: 4 }).items(40);
    await stream.next();
    line.cut();
    await failure(collect(stream), "FRAY_ACTOR_UNAVAILABLE");
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });
});

test("a snapshot holds the answers that its state left behind: the next incarnation gives them, and runs nothing twice", async () => {
  const [options, actor] = [{ maxConcurrency: 1, mailboxLimit: 10, snapshotEvery: 1 }, { name: "cell", incarnation: 1, index: 0, size: 1 }];
  const taken: ActorSnapshot[] = [];
  const ask = (cell: ActorCell, key: string, n: number) => new Promise((resolve, reject) => void cell.call({ method: "add", args: [n], key }, { result: resolve, error: reject }));
  const before = new ActorCell(new Probe(0), actor, options, (snapshot) => taken.push(structuredClone(snapshot)));
  expect([await ask(before, "a", 5), await ask(before, "b", 2)]).toEqual([5, 7]);
  const after = new ActorCell(new Probe(0), { ...actor, incarnation: 2 }, options, () => undefined);
  await after.restore(taken.at(-1) as ActorSnapshot);
  expect([await ask(after, "b", 2), await ask(after, "a", 5), await ask(after, "c", 1)]).toEqual([7, 5, 8]);
});

test("actors that share a worker live, restart and fall together, and are stopped one by one", async () => {
  const client = new LocalClient();
  open.push(client);
  const make = (name: string) => client.createActor(probe, [1], { kind: "thread", name, worker: "both", restarts: 1, restartDelayMs: 1, onStderr: () => undefined });
  const [one, two] = await Promise.all([make("one"), make("two")]);
  await one.add(4);
  one.actor.kill();
  expect(await Promise.all([one.with({ idempotent: true }).get(), two.with({ idempotent: true }).get()])).toMatchObject([{ value: 5 }, { value: 1 }]);
  expect([one.actor.incarnation, two.actor.incarnation]).toEqual([2, 2]);
  await one.actor.stop();
  expect(await two.add(1)).toBe(2);
  await expect(client.createActor(probe, [1], { kind: "process", name: "three", worker: "both" })).rejects.toMatchObject({ code: "FRAY_BAD_OPTION" });
});

test("Context never leaks: 1,000 interleaved calls each see their own, outside of them there is none", async () => {
  const client = new LocalClient();
  open.push(client);
  const actor = await client.createActor(probe, [1], { kind: "thread", name: "contexts", maxConcurrency: 1_000 });
  const hosted = await client.hostActor(new Probe(1), { name: "hosted", maxConcurrency: 1_000 });
  const seen = await Promise.all(Array.from({ length: 1_000 }, (_, n) => (n % 2 === 0 ? actor : hosted).sameCall(n % 11)));
  expect(seen.filter((same) => !same)).toEqual([]);
  expect(currentCall()).toBeUndefined();
});
