import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { readFenced } from "../src/leases/fenced.js";
import type { Storage } from "../src/storage/storage.js";
import { seededRandom } from "../src/time/random.js";

/** How many contend, for how long. */
export interface Contention {
  /** A directory that nothing else uses, and how to reach it. */
  readonly base: string;
  readonly endpoint: string;
  readonly storage: Storage;
  /** Processes that contend. */
  readonly processes: number;
  /** Terms after which they end. */
  readonly terms: number;
  /** The lease's time, in milliseconds. */
  readonly ttlMs: number;
  /** In each term whose number this divides the holder stands still for longer than the lease's time. */
  readonly pauseEvery: number;
}

interface Told {
  readonly event: string;
  readonly token?: number;
  readonly outcome?: string;
  readonly code?: string;
  readonly message?: string;
}

/**
 * Lets processes contend for one lease, stops some of them from outside (SIGSTOP) for longer than the lease's time, and checks: no term has two
 * winners, late writers are refused, guarded work is aborted, what stands in the ledger never goes back to an earlier term. Returns what was counted.
 */
export async function contend({ base, endpoint, storage, processes, terms, ttlMs, pauseEvery }: Contention): Promise<Readonly<Record<string, number>>> {
  const told: Told[] = [];
  const children = Array.from({ length: processes }, () => start({ base, endpoint, ttlMs, terms, pauseEvery }, told));
  const ended = Promise.all(children.map(async ({ child }) => ((await once(child, "exit")) as [number | null, string | null])[0]));
  let isOver = false;
  const watching = ledgerNeverGoesBack(`${base}/ledger`, storage, () => isOver, ttlMs);
  const stopping = stopSome(children.map(({ child }) => child), () => isOver, ttlMs);
  try {
    const codes = await ended;
    expect(codes, children.map(({ errors }) => errors.join("")).join("")).toEqual(children.map(() => 0));
  } finally {
    isOver = true;
    for (const { child } of children) if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  }
  const [samples, stops] = await Promise.all([watching, stopping]);
  const won = told.filter(({ event }) => event === "term").map(({ token }) => token);
  expect(new Set(won).size, "a term that was won twice").toBe(won.length);
  const late = told.filter(({ event }) => event === "late");
  expect(late.filter(({ outcome }) => outcome !== "RIGGING_FENCED")).toEqual([]);
  const aborted = told.filter(({ event }) => event === "aborted");
  expect(aborted.filter(({ code }) => code !== "RIGGING_LEASE_LOST")).toEqual([]);
  expect(aborted.length).toBe(late.length);
  expect(late.length).toBeGreaterThan(0);
  // Two winners of one term would meet at the term's mark.
  expect(told.filter(({ event, code }) => event === "failed" && code !== "RIGGING_LEASE_LOST" && code !== "RIGGING_FENCED")).toEqual([]);
  const last = await readFenced(`${base}/ledger`, storage);
  expect(last?.token).toBe(Math.max(...won.map(Number)));
  expect(last?.token).toBeGreaterThanOrEqual(terms);
  return { processes, terms: won.length, "late writers refused": late.length, "leases lost": told.filter(({ code, event }) => event === "failed" && code === "RIGGING_LEASE_LOST").length, "processes stopped": stops, "ledger samples": samples };
}

function start(settings: object, told: Told[]): { readonly child: ChildProcess; readonly errors: string[] } {
  const program = fileURLToPath(new URL("./lease-contender.ts", import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", program, JSON.stringify(settings)], { stdio: ["ignore", "pipe", "pipe"] });
  const errors: string[] = [];
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk.toString()));
  createInterface(child.stdout).on("line", (line) => told.push(JSON.parse(line) as Told));
  return { child, errors };
}

async function ledgerNeverGoesBack(ledger: string, storage: Storage, isOver: () => boolean, ttlMs: number): Promise<number> {
  let newest = 0;
  let samples = 0;
  while (!isOver()) {
    const token = (await readFenced(ledger, storage))?.token ?? 0;
    expect(token).toBeGreaterThanOrEqual(newest);
    newest = token;
    samples += 1;
    await new Promise((resolve) => setTimeout(resolve, ttlMs / 20));
  }
  return samples;
}

/** Stops one process after the other, wherever it is, for up to three times the lease's time. */
async function stopSome(children: readonly ChildProcess[], isOver: () => boolean, ttlMs: number): Promise<number> {
  const random = seededRandom(7);
  let stops = 0;
  while (!isOver()) {
    await new Promise((resolve) => setTimeout(resolve, ttlMs));
    const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    const child = running[Math.floor(random() * running.length)];
    if (child === undefined || !child.kill("SIGSTOP")) continue;
    stops += 1;
    await new Promise((resolve) => setTimeout(resolve, ttlMs * (0.5 + 2.5 * random())));
    child.kill("SIGCONT");
  }
  return stops;
}
