import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import type { Transport } from "@marin/ducky";
import type { ActorTransport } from "../actors/actor-transport.js";
import { LocalClient } from "../local-client.js";
import { collect, failure, until } from "./expect.js";
import { Probe } from "./fixtures.js";

/** One thing that an actor transport must do. */
export interface TransportCase {
  readonly name: string;
  /**
   * Runs it; it rejects where the transport does otherwise.
   *
   * @param transport - connects and listens; each case listens anew
   */
  run(transport: ActorTransport): Promise<void>;
}

/** Both ends of a connection. */
async function pair(transport: ActorTransport, use: (here: Transport, there: Transport) => Promise<void>): Promise<void> {
  const accepted = new EventEmitter();
  const arriving = once(accepted, "transport") as Promise<[Transport]>;
  const listener = await transport.listen?.((each) => accepted.emit("transport", each));
  assert.ok(listener !== undefined, "the transport listens");
  try {
    assert.ok(listener.address.startsWith(`${transport.scheme}://`), `an address begins with "${transport.scheme}://"`);
    const here = await transport.connect(listener.address, { signal: AbortSignal.timeout(60_000) });
    const [there] = await arriving;
    await use(here, there);
    here.close();
    there.close();
  } finally {
    await listener.close();
  }
}

/** What an {@link ActorTransport} must do, as cases for any test runner. */
export function transportCases(): readonly TransportCase[] {
  return [
    {
      name: "messages arrive whole and in order, of 0 bytes and of 5 million, also those sent before anybody receives",
      run: (transport) =>
        pair(transport, async (here, there) => {
          const sizes = [1, 0, 5_000_000, 3, 70_000, ...Array.from({ length: 2_000 }, (_, n) => n % 97)];
          for (const [n, size] of sizes.entries()) here.send(new Uint8Array(size).fill(n));
          const received: Uint8Array[] = [];
          there.onMessage((message) => received.push(Uint8Array.from(message)));
          await until(async () => received.length === sizes.length);
          assert.deepEqual(received.map(({ length }) => length), sizes);
          assert.ok(received.every((message, n) => message.every((byte) => byte === n % 256)));
        }),
    },
    {
      name: "both ends send; a close is told once, to the other end, after what was sent before it",
      run: (transport) =>
        pair(transport, async (here, there) => {
          const seen: string[] = [];
          there.onMessage(([byte]) => {
            seen.push(`there ${String(byte)}`);
            if (byte === 1) there.send(Uint8Array.of(2));
          });
          there.onClose(() => seen.push("there closed"));
          here.onMessage(([byte]) => {
            seen.push(`here ${String(byte)}`);
            here.send(Uint8Array.of(3));
            here.close();
          });
          here.send(Uint8Array.of(1));
          await until(async () => seen.includes("there closed"));
          assert.deepEqual(seen, ["there 1", "here 2", "there 3", "there closed"]);
        }),
    },
    {
      name: "nobody there is an error, within the signal's time",
      run: async (transport) => {
        const listener = await transport.listen?.(() => undefined);
        assert.ok(listener !== undefined, "the transport listens");
        await listener.close();
        await assert.rejects(transport.connect(listener.address, { signal: AbortSignal.timeout(60_000) }));
      },
    },
    {
      name: "actors are called over it, stream, and are lost with it",
      run: async (transport) => {
        const host = new LocalClient({ name: "host", transports: [transport] });
        const guest = new LocalClient({ name: "guest", transports: [transport] });
        try {
          const made = await host.hostActor(new Probe(1), { name: "probe", maxConcurrency: 2 });
          await host.listen(transport);
          const actor = await guest.getActor<Probe>(made.actor.ref());
          assert.deepEqual(await Promise.all([actor.add(1), actor.add(2)]), [2, 4]);
          const bytes = new Uint8Array(1_000_000).fill(5);
          assert.deepEqual(await actor.echo(bytes), bytes);
          assert.equal((await collect(actor.count(1_000))).length, 1_000);
          await failure(actor.fail("boom"), "TEST_FAILED");
          const lost = failure(actor.untilAborted(), "FRAY_ACTOR_UNAVAILABLE");
          await host.shutdown({ graceMs: 0 });
          await lost;
          await failure(actor.add(1), "FRAY_ACTOR_UNAVAILABLE");
        } finally {
          await Promise.all([guest.shutdown(), host.shutdown()]);
        }
      },
    },
  ];
}
