import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { collect, failure } from "./conformance/expect.js";
import { entry, LocalClient, transfer, webSocketActors, type ActorRef, type LocalClientOptions } from "./index.js";
import type * as actors from "../test/actors.js";
import type * as fixtures from "./conformance/fixtures.js";

const probe = entry<typeof fixtures.Probe>(new URL("./conformance/fixtures.ts", import.meta.url), "Probe");
const quiet = { onStderr: () => undefined };

const open: LocalClient[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.shutdown({ graceMs: 0 })));
});

function client(options: LocalClientOptions = {}): LocalClient {
  const made = new LocalClient({ workers: 1, ...options });
  open.push(made);
  return made;
}

describe("an actor of another client", () => {
  test("is reached by its reference, which is plain JSON; its rules are those of its own client", async () => {
    const host = client({ name: "host" });
    const made = await host.createActor(probe, [1], { kind: "thread", name: "probe", mailboxLimit: 1, ...quiet });
    expect(() => made.actor.ref()).toThrow(expect.objectContaining({ code: "FRAY_NOT_LISTENING" }));
    const listener = await host.listen(webSocketActors());
    const ref = JSON.parse(JSON.stringify(made)) as ActorRef;
    expect(ref).toEqual({ name: "probe", address: listener.address });
    const actor = await client({ name: "guest" }).getActor<fixtures.Probe>(ref);
    expect(await Promise.all([actor.add(1), made.add(1)])).toEqual(expect.arrayContaining([2, 3]));
    expect((await failure(actor.fail("boom"), "TEST_FAILED")).data).toEqual({ n: 7 });
    expect(await collect(actor.count(300))).toEqual(Array.from({ length: 300 }, (_, n) => n));
    for await (const n of actor.with({ streamWindow: 4 }).count(1e9)) if (n === 3) break;
    await expect.poll(() => made.closed()).toBe(2);
    const bytes = new Uint8Array(100_000);
    expect(await actor.fill(transfer(bytes, [bytes.buffer]), 3)).toEqual(new Uint8Array(100_000).fill(3));
    expect(bytes.byteLength).toBe(0);
    const holding = actor.hold();
    const waiting = actor.add(1);
    await failure(actor.add(1), "FRAY_MAILBOX_FULL");
    expect(await client().getActor({ ...ref, name: "other" }).catch((error: unknown) => error)).toMatchObject({ code: "FRAY_UNKNOWN_ACTOR", message: expect.stringContaining("there is probe") });
    const lost = [failure(holding, "FRAY_ACTOR_UNAVAILABLE"), failure(waiting, "FRAY_ACTOR_UNAVAILABLE")];
    await made.actor.stop({ graceMs: 0 });
    await Promise.all(lost);
  });

  test("keeps its connection across restarts of the actor; idempotent calls wait for it", async () => {
    const host = client();
    const made = await host.createActor(probe, [1], { kind: "thread", name: "probe", restarts: Infinity, restartDelayMs: 1, ...quiet });
    await host.listen(webSocketActors());
    const actor = await client().getActor<fixtures.Probe>(made.actor.ref());
    expect(await actor.add(1)).toBe(2);
    const holding = failure(actor.hold(), "FRAY_ACTOR_UNAVAILABLE");
    // It has arrived, when one that was made later has to wait for it.
    await failure(actor.with({ timeoutMs: 20 }).atWork(), "FRAY_TIMEOUT");
    made.actor.kill();
    expect((await holding).data).toMatchObject({ state: "restarting", ran: "unknown" });
    expect(await actor.with({ idempotent: true }).add(1)).toBe(3);
    expect(await actor.place()).toMatchObject({ incarnation: 2 });
  });

  test("needs the token; nobody there, no transport, and no listening are said", async () => {
    const host = client();
    const made = await host.hostActor({ add: (a: number, b: number) => a + b }, { name: "adder" });
    await host.listen(webSocketActors({ token: "sesame-sesame-sesame" }));
    const ref = made.actor.ref();
    const stranger = client({ connectTimeoutMs: 2_000 });
    const refused = await failure(stranger.getActor(ref), "FRAY_ACTOR_UNAVAILABLE");
    expect(refused).toMatchObject({ cause: { code: "DUCKY_UNAUTHORIZED" }, data: { state: "unreachable", ran: "no" } });
    const friend = client({ transports: [webSocketActors({ token: "sesame-sesame-sesame" })] });
    expect(await (await friend.getActor<{ add(a: number, b: number): number }>(ref)).add(1, 2)).toBe(3);
    await failure(friend.getActor({ name: "adder", address: "carrier-pigeon://loft" }), "FRAY_NO_TRANSPORT");
    await failure(friend.getActor({ name: "adder", address: "ws://127.0.0.1:1" }), "FRAY_ACTOR_UNAVAILABLE");
    await failure(friend.listen({ scheme: "only", connect: () => Promise.reject(new Error("no")) }), "FRAY_NO_TRANSPORT");
    await host.shutdown();
    expect(await host.hostActor({}, { name: "late" }).catch((error: unknown) => error)).toMatchObject({ code: "FRAY_CLIENT_CLOSED" });
  });

  test("is found again where it has moved to; a call that was answered before the connection broke is not run again", async () => {
    const hosts = [client({ name: "first" }), client({ name: "second" })] as const;
    const addresses: string[] = [];
    const runs: string[] = [];
    for (const [index, host] of hosts.entries()) {
      await host.hostActor({ run: (what: string) => runs.push(`${index} ${what}`) }, { name: "mover", incarnation: index + 1 });
      addresses.push((await host.listen(webSocketActors())).address);
    }
    let where = 0;
    const guest = client({ resolve: () => addresses[where] as string });
    const actor = await guest.getActor<{ run(what: string): number }>({ name: "mover", address: "ws://wherever" });
    expect(await actor.run("a")).toBe(1);
    expect(actor.actor.incarnation).toBe(1);
    where = 1;
    await hosts[0].shutdown();
    await expect.poll(() => actor.actor.state).toBe("unreachable");
    expect(await actor.run("b")).toBe(2);
    expect(actor.actor).toMatchObject({ incarnation: 2, state: "running" });
    expect(runs).toEqual(["0 a", "1 b"]);
  });
});

test("an actor of a process that is killed is unreachable, in bounded time, with a typed error", async () => {
  const script = fileURLToPath(new URL("../test/host.ts", import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const ref = JSON.parse((await lines.next()).value as string) as ActorRef;
    const guest = client({ unreachableMs: 200, connectTimeoutMs: 2_000 });
    const actor = await guest.getActor<actors.Counter>(ref);
    expect(await actor.add(1)).toBe(1);
    const stream = actor.upTo(1e9);
    await stream.next();
    const under = failure(actor.untilAborted(), "FRAY_ACTOR_UNAVAILABLE");
    child.kill("SIGKILL");
    expect((await under).data).toMatchObject({ state: "unreachable", ran: "unknown" });
    const reading = failure(collect(stream), "FRAY_ACTOR_UNAVAILABLE");
    expect((await failure(actor.add(1), "FRAY_ACTOR_UNAVAILABLE")).data).toMatchObject({ ran: "no" });
    await failure(actor.with({ idempotent: true }).add(1), "FRAY_ACTOR_UNAVAILABLE");
    await reading;
  } finally {
    child.kill("SIGKILL");
  }
});
