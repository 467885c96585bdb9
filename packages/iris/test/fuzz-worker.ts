import { MessageChannel } from "node:worker_threads";
import { serialize } from "node:v8";
import { Connection, type Schema, defineService, portTransport, serverStream, unary } from "@marin/ducky";
import { seededRandom } from "@marin/rigging";
import { MarinError, isMarinError } from "../src/platform.js";
import { failureToWire } from "../src/runtime/failure.js";
import { serveWorkerLink } from "../src/worker/link.js";
import type { Observed, Report } from "../src/worker/protocol.js";
import type { TaskEnd, TaskProcess } from "../src/worker/task-process.js";
import { Worker } from "../src/worker/worker.js";
import { noApi } from "./worker-harness.js";

/** Takes anything: what is sent is checked at the other end alone. */
const anything: Schema = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };

/** The worker's service for a controller that may say anything. */
const unchecked = defineService("iris.worker", {
  info: unary({ input: anything, output: anything }),
  reconcile: unary({ input: anything, output: anything }),
  reports: serverStream({ input: anything, output: anything }),
  exec: serverStream({ input: anything, output: anything }),
  shutdown: unary({ input: anything, output: anything }),
});

/** What a fuzz run has seen. */
export interface FuzzResult {
  readonly refused: number;
  readonly taken: number;
  readonly started: number;
  readonly ended: number;
  readonly connections: number;
}

type Random = () => number;

/**
 * Says that many things to a worker, right and wrong, and checks after each that it does what a worker must.
 *
 * @param cases - how many
 * @param seed - decides all of them
 */
export async function fuzzWorker(cases: number, seed: number): Promise<FuzzResult> {
  const random = seededRandom(seed);
  let started = 0;
  await using worker = new Worker({
    name: "fuzzed",
    capacity: { cpu: 4, memoryBytes: 2 ** 30, diskBytes: 0, device: { kind: "gpu", count: 2 } },
    api: () => noApi,
    startProcess: async ({ signal }) => {
      signal.throwIfAborted();
      started += 1;
      return instantProcess(random);
    },
  });
  let refused = 0;
  let taken = 0;
  let connections = 0;
  const reports = new Map<string, number>();
  const ended = { count: 0 };
  let desk = connect(worker);
  let reading = follow(desk.calls, reports, ended);
  for (let number = 0; number < cases; number += 1) {
    const kind = random();
    if (kind < 0.01) {
      // Bytes that are no frame end the connection, and nothing else.
      desk.raw(Buffer.from(Array.from({ length: 1 + Math.floor(random() * 40) }, () => Math.floor(random() * 256))));
      if (random() < 0.3) {
        desk.close();
        await reading;
        desk = connect(worker);
        connections += 1;
        reading = follow(desk.calls, reports, ended);
      }
    } else if (kind < 0.45) {
      const method = pick(random, ["reconcile", "reconcile", "reconcile", "exec", "shutdown", "info"] as const);
      const input = method === "reconcile" ? mutate(random, request(random)) : anyValue(random, 3);
      // An epoch or a shutdown that happens to be right would end the run.
      if (method === "shutdown" && (input as { epoch?: unknown } | null)?.epoch === 1) continue;
      if (await isRefused(desk.calls, method, input)) refused += 1;
      else taken += 1;
    } else {
      const wanted = request(random);
      const observed = await desk.calls.reconcile(wanted).catch((error: unknown) => {
        if (isMarinError(error, "DUCKY_CLOSED")) return undefined;
        throw error;
      });
      taken += 1;
      if (observed !== undefined) check(wanted, observed as Observed);
    }
    if (desk.closed()) {
      await reading;
      desk = connect(worker);
      connections += 1;
      reading = follow(desk.calls, reports, ended);
    }
  }
  if (worker.info.name !== (await desk.calls.info({}) as { readonly name: string }).name) throw new Error("the worker is no longer itself");
  const empty = (await desk.calls.reconcile({ epoch: 1, desired: [] })) as Observed;
  if (empty.attempts.length > 0) throw new Error(`${String(empty.attempts.length)} attempts are left`);
  desk.close();
  await reading;
  return { refused, taken, started, ended: ended.count, connections };
}

interface Desk {
  readonly calls: ReturnType<typeof clientOf>;
  readonly closed: () => boolean;
  readonly close: () => void;
  readonly raw: (bytes: Uint8Array) => void;
}

function clientOf(connection: Connection) {
  return connection.client(unchecked);
}

function connect(worker: Worker): Desk {
  const { port1, port2 } = new MessageChannel();
  const near = new Connection(portTransport(port1), { peer: "the worker" });
  const far = new Connection(portTransport(port2), { peer: "the controller" });
  serveWorkerLink(far, worker);
  let closed = false;
  for (const each of [near, far]) {
    void each.closed.then(() => {
      closed = true;
      near.close();
      far.close();
    });
  }
  return { calls: clientOf(near), closed: () => closed, close: () => near.close(), raw: (bytes) => port1.postMessage(bytes) };
}

/** Reads reports until the connection ends: each attempt's are in order and end with its end. */
async function follow(calls: Desk["calls"], last: Map<string, number>, ended: { count: number }): Promise<void> {
  try {
    for await (const batch of calls.reports({ epoch: 1 })) {
      for (const { attemptUid, seq, type } of batch as Report[]) {
        const before = last.get(attemptUid) ?? 0;
        if (seq > before + 1 && before > 0) throw new Error(`report ${String(seq)} of ${attemptUid} follows ${String(before)}`);
        last.set(attemptUid, Math.max(seq, before));
        if (type === "ended") {
          ended.count += 1;
          // Forgotten, it may be ordered again in this test, and begins with 1.
          last.delete(attemptUid);
        }
      }
    }
  } catch (error) {
    if (!isMarinError(error, "DUCKY_CLOSED")) throw error;
  }
}

async function isRefused(calls: Desk["calls"], method: "reconcile" | "exec" | "shutdown" | "info", input: unknown): Promise<boolean> {
  try {
    const answer = calls[method](input);
    if (Symbol.asyncIterator in answer) {
      for await (const _ of answer);
    } else {
      await answer;
    }
    return false;
  } catch (error) {
    if (isMarinError(error)) return true;
    throw error;
  }
}

function check(wanted: ReturnType<typeof request>, observed: Observed): void {
  const uids = observed.attempts.map(({ attemptUid }) => attemptUid).sort();
  const asked = [...new Set(wanted.desired.map(({ attemptUid }) => attemptUid))].sort();
  // One that is desired twice in a request may be missing twice.
  if (JSON.stringify([...new Set(uids)]) !== JSON.stringify(asked)) throw new Error(`asked for ${asked.join(", ")}, there is ${uids.join(", ")}`);
}

function request(random: Random) {
  const uids = ["a", "b", "c", "d-e_f", "x".repeat(64)];
  return {
    epoch: 1,
    desired: Array.from({ length: Math.floor(random() * 5) }, () => ({
      attemptUid: pick(random, uids),
      acknowledged: pick(random, [0, 1, 2, 3, 2 ** 40]),
      ...(random() < 0.6 ? { order: orderOf(random) } : {}),
      ...(random() < 0.2 ? { stop: { failure: failureToWire(new MarinError("IRIS_CANCELLED", "fuzz")), graceMs: pick(random, [0, 1, 86_400_000]) } } : {}),
    })),
  };
}

function orderOf(random: Random) {
  return {
    jobId: pick(random, ["/job", "/\u0000", "/é/ü"]),
    jobUid: "job",
    taskIndex: 0,
    numTasks: 1 + Math.floor(random() * 3),
    attempt: 0,
    work: random() < 0.5 ? { kind: "entry", module: "file:///nowhere.js", export: "run", args: serialize([random()]) } : { kind: "command", argv: ["true"] },
    setup: [],
    env: random() < 0.5 ? {} : { A: "1" },
    resources: { cpu: 0, memoryBytes: 0, diskBytes: 0, ...(random() < 0.1 ? { device: { kind: "gpu", count: 1 + Math.floor(random() * 4) } } : {}) },
    ports: random() < 0.02 ? ["a"] : [],
    isolation: "warm",
    ...(random() < 0.1 ? { timeoutMs: pick(random, [1, 1e12]) } : {}),
    ...(random() < 0.05 ? { bundle: { digest: "sha256-../../etc", root: "file:///" } } : {}),
  };
}

/** Replaces something, somewhere, by something else. */
function mutate(random: Random, value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array || random() < 0.15) return anyValue(random, 2);
  const keys = Object.keys(value);
  const key = pick(random, [...keys, "", "__proto__", "extra"]);
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...(value as unknown[])] : { ...value };
  const changed = random() < 0.1 ? undefined : mutate(random, (value as Record<string, unknown>)[key]);
  Object.defineProperty(copy, key, { value: changed, enumerable: true, configurable: true, writable: true });
  return copy;
}

function anyValue(random: Random, depth: number): unknown {
  const leaves = [null, undefined, true, 0, -1, 1.5, NaN, Infinity, 2 ** 53, "", "a", "x".repeat(300), "\u0000", new Uint8Array(3), 10n, new Date(0)];
  const kind = random();
  if (depth === 0 || kind < 0.6) return pick(random, leaves);
  if (kind < 0.8) return Array.from({ length: Math.floor(random() * 4) }, () => anyValue(random, depth - 1));
  return Object.fromEntries(Array.from({ length: Math.floor(random() * 4) }, () => [pick(random, ["epoch", "desired", "attemptUid", "argv", "x"]), anyValue(random, depth - 1)]));
}

function pick<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

/** A process that answers at once, or when it is told to end. */
function instantProcess(random: Random): TaskProcess {
  const exit = { code: 0, signal: null, stderrTail: "" };
  let end: () => void = () => undefined;
  const exited = new Promise<typeof exit>((resolve) => (end = () => resolve(exit)));
  const waits = random() < 0.05;
  return {
    pid: 2 ** 22 + 1,
    exited,
    run: async (_start, sink): Promise<TaskEnd> => {
      sink.printed("stdout", "a line");
      if (!waits) return { kind: "returned", value: serialize(1) };
      await exited;
      return { kind: "lost", exit };
    },
    stop: () => end(),
    kill: () => end(),
    end: () => {
      end();
      return exited;
    },
  };
}
