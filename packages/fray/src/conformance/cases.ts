import assert from "node:assert/strict";
import type { ActorHandle } from "../actor.js";
import type { ActorOptions, Client } from "../client.js";
import { entry } from "../entry.js";
import { transfer } from "../actors/transfer.js";
import { collect, failure, until } from "./expect.js";
import type * as fixtures from "./fixtures.js";

/** Settings of {@link clientCases}. */
export interface ClientCasesOptions {
  /** What the actors of the cases ask for. */
  readonly kind: "process" | "thread";
  /** A worker that actors share where a case does not end it, as `ActorOptions` has it. Default: each has a worker of its own. */
  readonly worker?: string;
}

/** One thing that a client must do. */
export interface ClientCase {
  readonly name: string;
  /**
   * Runs it; it rejects where the client does otherwise.
   *
   * @param client - a client for this case alone, or one that others have used; what the case starts it stops
   */
  run(client: Client): Promise<void>;
}

const module = new URL(import.meta.url.endsWith(".ts") ? "./fixtures.ts" : "./fixtures.js", import.meta.url);
const probe = entry<typeof fixtures.Probe>(module, "Probe");

let lastName = 0;

/** The cases. */
export function clientCases({ kind, worker }: ClientCasesOptions): readonly ClientCase[] {
  const alone = (more: Partial<ActorOptions> = {}): ActorOptions => ({ kind, name: `case-${process.pid}-${++lastName}`, onStdout: () => undefined, onStderr: () => undefined, ...more });
  const shared = (more: Partial<ActorOptions> = {}): ActorOptions => alone({ ...(worker === undefined ? {} : { worker }), ...more });
  const withProbe = (name: string, run: (actor: ActorHandle<fixtures.Probe>, client: Client) => Promise<void>, more: Partial<ActorOptions> = {}, place = shared): ClientCase => ({
    name,
    run: async (client) => {
      const actor = await client.createActor(probe, [10], place(more));
      try {
        await run(actor, client);
      } finally {
        await actor.actor.stop({ graceMs: 0 });
      }
    },
  });
  return [
    {
      name: "submit gives what the function returns, with its types",
      run: async (client) => {
        assert.equal(await client.submit(entry<typeof fixtures.add>(module, "add"), [1, 2]), 3);
        const value = { bytes: new Uint8Array([1, 2]), map: new Map([[1, new Date(5)]]), big: 2n ** 70n, nothing: undefined };
        assert.deepEqual(await client.submit(entry<typeof fixtures.echo>(module, "echo"), [value]), value);
      },
    },
    {
      name: "submit fails with what the function throws, and with typed errors for what cannot be run",
      run: async (client) => {
        const error = await failure(client.submit(entry<typeof fixtures.fail>(module, "fail"), ["boom"]), "TEST_FAILED");
        assert.equal(error.message, "boom");
        assert.deepEqual(error.data, { n: 7 });
        assert.equal((error.cause as Error).name, "TypeError");
        await failure(client.submit(entry(module, "nowhere"), []), "FRAY_ENTRY_MISSING");
        await failure(client.submit(entry<typeof fixtures.echo>(module, "echo"), [() => 1]), "FRAY_NOT_CLONABLE");
        await failure(client.submit(entry<typeof fixtures.leave>(module, "leave"), []), "FRAY_WORKER_LOST");
      },
    },
    {
      name: "a submitted function can be cancelled, and has a time limit",
      run: async (client) => {
        const work = entry<typeof fixtures.untilAborted>(module, "untilAborted");
        const controller = new AbortController();
        const cancelled = client.submit(work, [], { signal: controller.signal });
        controller.abort(new Error("enough"));
        await failure(cancelled, "FRAY_CANCELLED");
        await failure(client.submit(work, [], { timeoutMs: 50 }), "FRAY_TIMEOUT");
      },
    },
    withProbe("an actor keeps its state; its calls run in the order in which they were made", async (actor) => {
      assert.deepEqual(await Promise.all([actor.add(1), actor.add(2), actor.get(), actor.add(3)]), [11, 13, { value: 13, start: 10, runs: ["add 1", "add 2"] }, 16]);
    }),
    withProbe("what an actor throws keeps its code, data and cause; what cannot be sent is refused", async (actor) => {
      assert.deepEqual((await failure(actor.fail("boom"), "TEST_FAILED")).data, { n: 7 });
      await failure(actor.echo(() => 1), "FRAY_NOT_CLONABLE");
      const value = { bytes: new Float32Array([0.5, NaN]), set: new Set([1n]), nested: [{ at: new Date(7) }] };
      assert.deepEqual(await actor.echo(value), value);
    }),
    withProbe("arguments and results are copies", async (actor) => {
      const value = { n: [1] };
      const call = actor.echo(value);
      value.n.push(2);
      assert.deepEqual(await call, { n: [1] });
    }),
    withProbe("what is handed over is gone, and comes back the same", async (actor) => {
      const bytes = new Uint8Array(4096).fill(1);
      const filled = await actor.fill(transfer(bytes, [bytes.buffer]), 7);
      assert.equal(bytes.byteLength, 0);
      assert.deepEqual(filled, new Uint8Array(4096).fill(7));
      await failure(actor.fill(transfer(bytes, [bytes.buffer]), 7), "FRAY_NOT_CLONABLE");
      assert.deepEqual(await actor.echo("still there"), "still there");
    }),
    withProbe("a generator's items arrive in order, of both kinds, and its failure after them", async (actor) => {
      assert.deepEqual(await collect(actor.count(500)), Array.from({ length: 500 }, (_, n) => n));
      assert.deepEqual(await collect(actor.countTwice(3)), [{ n: 0 }, { n: 2 }, { n: 4 }]);
      const items: number[] = [];
      await failure(
        (async () => {
          for await (const n of actor.failAfter(3)) items.push(n);
        })(),
        "TEST_FAILED",
      );
      assert.deepEqual(items, [0, 1, 2]);
    }),
    withProbe("a generator is at most a window ahead of its reader, and ends when the reader leaves", async (actor) => {
      const stream = actor.with({ streamWindow: 8 }).count(1_000_000);
      await stream.next();
      await until(async () => (await actor.made()) >= 8);
      assert.ok((await actor.made()) <= 9, "no more than the window and the item that was read");
      await stream.return();
      await until(async () => (await actor.closed()) === 1);
    }),
    withProbe("a call ends at its time limit and when its signal is aborted, and the actor learns of both", async (actor) => {
      await failure(actor.with({ timeoutMs: 50 }).untilAborted(), "FRAY_TIMEOUT");
      const controller = new AbortController();
      const call = actor.with({ signal: controller.signal }).untilAborted();
      controller.abort(new Error("enough"));
      await failure(call, "FRAY_CANCELLED");
      assert.deepEqual((await actor.get()).runs.slice(0, 2), ["untilAborted begins", "untilAborted ends"]);
    }),
    withProbe(
      "at most maxConcurrency calls run at a time, and as many as that do; each sees its own call",
      async (actor) => {
        const holding = Array.from({ length: 2 }, () => actor.hold());
        const seen = await actor.sameCall(20);
        assert.equal(seen, true);
        await until(async () => (await actor.atWork()) === 2);
        const same = await Promise.all(Array.from({ length: 40 }, (_, n) => actor.sameCall(n % 7)));
        assert.ok(same.every(Boolean));
        await actor.release();
        assert.deepEqual(await Promise.all(holding), [2, 2]);
      },
      { maxConcurrency: 3 },
    ),
    withProbe(
      "a full mailbox refuses calls, which are not run",
      async (actor) => {
        const holding = actor.hold();
        const waiting = [actor.add(1), actor.add(1)];
        const error = await failure(actor.add(100), "FRAY_MAILBOX_FULL");
        assert.equal(error.data["ran"], "no");
        holding.cancel();
        // Its turn does not end: the calls that wait are refused when the actor stops.
        const refused = waiting.map((call) => failure(call, "FRAY_ACTOR_UNAVAILABLE"));
        await actor.actor.stop({ graceMs: 0 });
        await Promise.all(refused);
      },
      { mailboxLimit: 2 },
    ),
    withProbe("an actor that is lost fails its calls with a typed error, at once and for good", async (actor) => {
      const holding = actor.hold();
      await actor.with({ streamWindow: 1 }).count(2).next();
      actor.actor.kill();
      const error = await failure(holding, "FRAY_ACTOR_UNAVAILABLE");
      assert.equal(error.data["ran"], "unknown");
      assert.equal((await failure(actor.add(1), "FRAY_ACTOR_UNAVAILABLE")).data["ran"], "no");
      assert.equal(actor.actor.state, "dead");
    }, { maxConcurrency: 2 }, alone),
    withProbe(
      "an actor with restarts comes back with a new incarnation and its snapshot; idempotent calls and streams outlast it",
      async (actor) => {
        assert.equal(await actor.add(5), 15);
        assert.equal(actor.actor.incarnation, 1);
        const once = actor.hold();
        const stream = actor.with({ idempotent: true, streamWindow: 2 }).count(6);
        actor.actor.kill();
        const late = actor.with({ idempotent: true }).add(1);
        assert.equal((await failure(once, "FRAY_ACTOR_UNAVAILABLE")).data["ran"], "unknown");
        assert.equal(await late, 16);
        assert.equal(actor.actor.incarnation, 2);
        assert.equal((await stream.next()).value, 0);
        assert.equal((await stream.next()).value, 1);
        actor.actor.kill();
        assert.deepEqual(await collect(stream), [2, 3, 4, 5]);
        assert.deepEqual(await actor.get(), { value: 16, start: 10, runs: ["add 5", "add 1"] });
        assert.equal(actor.actor.incarnation, 3);
        assert.equal((await actor.place())?.incarnation, 3);
      },
      { restarts: 2, restartDelayMs: 1 },
      alone,
    ),
    {
      name: "a group: its members know their places, take turns, answer together, and are told as they come",
      run: async (client) => {
        const group = client.createActorGroup(probe, (index): [number] => [index], { ...shared(), count: 3 });
        try {
          const discovered = (await collect(group.discoverNew())).map(({ index }) => index);
          assert.deepEqual(discovered.sort(), [0, 1, 2]);
          const handles = await group.waitReady();
          assert.equal(handles.length, 3);
          assert.deepEqual(await group.broadcast((actor, index) => actor.add(10 * index)), [0, 11, 22]);
          assert.deepEqual(await Promise.all([1, 2, 3, 4].map(async () => (await group.next().place())?.index)), [0, 1, 2, 0]);
          assert.deepEqual(await group.broadcast(async (actor) => (await actor.place())?.size), [3, 3, 3]);
        } finally {
          await group.stop({ graceMs: 0 });
        }
      },
    },
    {
      name: "a group of which one cannot be made says so at once",
      run: async (client) => {
        const group = client.createActorGroup(entry<typeof fixtures.SecondFails>(module, "SecondFails"), [], { ...shared(), count: 2 });
        try {
          await assert.rejects(group.waitReady(), { name: "RangeError", message: "not the second one" });
        } finally {
          await group.stop({ graceMs: 0 });
        }
      },
    },
    {
      name: "an object of this process is an actor too, under the same rules",
      run: async (client) => {
        const { Probe } = await import("./fixtures.js");
        const actor = await client.hostActor(new Probe(3), { name: shared().name, maxConcurrency: 1 });
        const value = { n: [1] };
        const call = actor.echo(value);
        value.n.push(2);
        assert.deepEqual(await call, { n: [1] });
        assert.deepEqual(await Promise.all([actor.add(1), actor.add(2)]), [4, 6]);
        assert.deepEqual(await collect(actor.count(3)), [0, 1, 2]);
        await actor.actor.stop();
        await failure(actor.add(1), "FRAY_ACTOR_UNAVAILABLE");
      },
    },
    {
      name: "a name is taken once, and free again after the stop",
      run: async (client) => {
        const given = shared();
        const first = await client.createActor(probe, [1], given);
        await failure(client.createActor(probe, [2], given), "FRAY_DUPLICATE_ACTOR");
        await first.actor.stop();
        const second = await client.createActor(probe, [2], given);
        assert.equal((await second.get()).start, 2);
        await second.actor.stop();
      },
    },
  ];
}
