import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { entry, LocalClient, type ActorHandle } from "../src/index.js";
import type * as ledger from "./ledger.js";

/** Longer than any call takes on a loaded machine: one that has neither answered nor failed by then hangs. */
const boundMs = 60_000;

/** Where the actor is, and what is killed: its worker, or the process of another client that it is in. */
export type KillPlace = "process" | "thread" | "host";

/** What {@link killActors} saw. A contract that holds has nothing but zeros and true. */
export interface KillReport {
  readonly kills: number;
  /** At-most-once calls that ran more than once. */
  readonly ranTwice: number;
  /** At-most-once calls that were answered and did not run, or were said not to have run and did. */
  readonly untrue: number;
  /** Idempotent calls that never ran, or that failed. */
  readonly unfinished: number;
  /** Failures that are no FRAY_ACTOR_UNAVAILABLE. */
  readonly untyped: readonly string[];
  /** Calls without an answer in bounded time. */
  readonly hanging: number;
  /** Streams whose items were not those of the generator, in order and without a gap, or that ended early as if complete. */
  readonly wrongStreams: number;
  /** Whether there was each kind of outcome, so that the rest says something. */
  readonly met: { readonly answered: boolean; readonly lost: boolean; readonly streamsResumed: boolean };
}

interface Target {
  readonly actor: ActorHandle<ledger.Ledger>;
  kill(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Calls an actor in all ways at once while what it lives in is killed with -9 (a thread: ended) at random times, also while it is only starting.
 *
 * @param place - see {@link KillPlace}
 * @param kills - how often
 */
export async function killActors(place: KillPlace, kills: number): Promise<KillReport> {
  const directory = mkdtempSync(join(tmpdir(), "marin-fray-"));
  const file = join(directory, "ledger");
  writeFileSync(file, "");
  const target = place === "host" ? await hostTarget(file) : await workerTarget(place, file);
  const outcomes = new Map<string, "answered" | "no" | "unknown" | "failed">();
  const untyped: string[] = [];
  let [hanging, wrongStreams, resumed, complete, lastId] = [0, 0, 0, 0, 0];
  let over = false;

  const bounded = async <T>(work: PromiseLike<T>): Promise<T | undefined> => {
    const timer = new AbortController();
    const late = setTimeout(boundMs, "late" as const, { signal: timer.signal }).catch(() => "late" as const);
    try {
      const first = await Promise.race([work.then((value) => ({ value })), late]);
      if (first !== "late") return first.value;
      hanging += 1;
      return undefined;
    } finally {
      timer.abort();
    }
  };
  const classify = (error: unknown): "no" | "unknown" | "failed" => {
    const { code, data } = error as { readonly code?: string; readonly data?: { readonly ran?: string } };
    if (code !== "FRAY_ACTOR_UNAVAILABLE") untyped.push(String(error));
    return code !== "FRAY_ACTOR_UNAVAILABLE" ? "failed" : data?.ran === "no" ? "no" : "unknown";
  };
  const lane = async (step: () => Promise<void>): Promise<void> => {
    while (!over) await step();
  };
  const onceStep = async (): Promise<void> => {
    const id = ++lastId;
    try {
      if ((await bounded(target.actor.once(id))) === id) outcomes.set(`once ${id}`, "answered");
    } catch (error) {
      outcomes.set(`once ${id}`, classify(error));
      await setTimeout(10);
    }
  };
  const againStep = async (): Promise<void> => {
    const id = ++lastId;
    try {
      if ((await bounded(target.actor.with({ idempotent: true }).again(id))) === id) outcomes.set(`again ${id}`, "answered");
    } catch (error) {
      outcomes.set(`again ${id}`, classify(error));
    }
  };
  const streamStep = async (idempotent: boolean): Promise<void> => {
    const count = 400;
    let next = 0;
    let ended = false;
    const before = target.actor.actor.incarnation;
    try {
      await bounded(
        (async () => {
          for await (const n of target.actor.with({ idempotent }).items(count)) if (n !== next++) wrongStreams += 1;
          ended = true;
        })(),
      );
      if (ended && next !== count) wrongStreams += 1;
      if (idempotent && ended) complete += 1;
      if (idempotent && ended && (place === "host" || target.actor.actor.incarnation > before)) resumed += 1;
    } catch (error) {
      classify(error);
      if (idempotent) wrongStreams += 1;
      await setTimeout(10);
    }
  };

  const lanes = [...[1, 2, 3].map(() => lane(onceStep)), ...[1, 2, 3].map(() => lane(againStep)), lane(() => streamStep(false)), lane(() => streamStep(true))];
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      await bounded(target.actor.with({ idempotent: true }).again(0));
      // A stream that is killed again and again before it comes further would not end, and should not.
      const before = complete;
      if (kill % 5 === 4) while (complete === before && hanging === 0) await setTimeout(5);
      await setTimeout(Math.random() * 100);
      await target.kill();
      // Often the next one falls before it has started again.
      if (Math.random() < 0.2 && ++kill < kills) {
        await setTimeout(Math.random() * 150);
        await target.kill();
      }
    }
    over = true;
    await Promise.all(lanes);
    const ran = new Map<string, number>();
    for (const line of readFileSync(file, "utf8").split("\n")) ran.set(line, (ran.get(line) ?? 0) + 1);
    const all = [...outcomes];
    const onceCalls = all.filter(([call]) => call.startsWith("once"));
    return {
      kills,
      ranTwice: onceCalls.filter(([call]) => (ran.get(call) ?? 0) > 1).length,
      untrue: onceCalls.filter(([call, outcome]) => (outcome === "answered" && !ran.has(call)) || (outcome === "no" && ran.has(call))).length,
      unfinished: all.filter(([call, outcome]) => call.startsWith("again") && (outcome !== "answered" || !ran.has(call))).length,
      untyped,
      hanging,
      wrongStreams,
      met: { answered: all.some(([, outcome]) => outcome === "answered"), lost: onceCalls.some(([, outcome]) => outcome === "unknown"), streamsResumed: resumed > 0 },
    };
  } finally {
    over = true;
    await target.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function workerTarget(kind: "process" | "thread", file: string): Promise<Target> {
  const client = new LocalClient({ name: "killed" });
  const actor = await client.createActor(entry<typeof ledger.Ledger>(new URL("./ledger.ts", import.meta.url), "Ledger"), [file], {
    kind,
    name: "ledger",
    maxConcurrency: 4,
    restarts: Infinity,
    restartDelayMs: 1,
    onStderr: () => undefined,
  });
  return {
    actor,
    kill: async () => {
      actor.actor.kill();
    },
    close: () => client.shutdown({ graceMs: 0 }),
  };
}

async function hostTarget(file: string): Promise<Target> {
  const script = fileURLToPath(new URL("ledger-host.ts", import.meta.url));
  let child: ChildProcess | undefined;
  let address = "";
  const start = async (): Promise<void> => {
    const started = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script, file], { stdio: ["ignore", "pipe", "ignore"] });
    child = started;
    for await (const line of createInterface({ input: started.stdout })) {
      address = line;
      break;
    }
  };
  await start();
  let starting = Promise.resolve();
  const client = new LocalClient({ name: "guest", resolve: () => address });
  const actor = await client.getActor<ledger.Ledger>({ name: "ledger", address });
  return {
    actor,
    kill: async () => {
      const killed = child;
      if (killed?.kill("SIGKILL") === true) await once(killed, "exit");
      await starting;
      starting = start();
    },
    close: async () => {
      await client.shutdown();
      await starting;
      child?.kill("SIGKILL");
    },
  };
}
