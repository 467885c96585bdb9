import { spawn } from "node:child_process";
import { threadId } from "node:worker_threads";
import { defineService, MarinError, unary } from "@marin/ducky";
import { currentCall, entry, FrayWorker, parentConnection, type PoolMember } from "@marin/fray";
import { z } from "zod";

/** What tests ask workers to do. */
export function add(a: number, b: number): number {
  return a + b;
}

export function whoami(): { pid: number; ppid: number; threadId: number; parent: boolean; env: string | undefined } {
  return { pid: process.pid, ppid: process.ppid, threadId, parent: parentConnection() !== undefined, env: process.env["FRAY_TEST"] };
}

export function echo(value: unknown): unknown {
  return value;
}

export function fail(message: string): never {
  throw new MarinError("TEST_FAILED", message, { data: { n: 7 }, cause: new TypeError("inner") });
}

export function giveFunction(): unknown {
  return { run: () => 1 };
}

/** Writes to both outputs, in parts, and sends what is no message of ours over the process's own channel. */
export function chatter(): string {
  process.stdout.write("one\ntw");
  process.stdout.write("o\r\n\u0000{binary}\nlast ä");
  process.stderr.write("warned\n");
  process.send?.({ not: "ours" });
  return "done";
}

/** Ends only when told to, and says why it was. */
export async function untilAborted(): Promise<string> {
  const signal = currentCall()?.signal;
  console.log("waiting");
  await new Promise((resolve) => signal?.addEventListener("abort", resolve));
  const reason = signal?.reason as Error;
  console.log(`aborted: ${reason.message}`);
  return "ended by itself";
}

/** Keeps the thread busy for good: no timer, message or signal handler runs any more. */
export function spin(): void {
  console.log("spinning");
  for (;;);
}

export function exitWith(code: number): Promise<never> {
  process.stderr.write("about to leave\n");
  process.exit(code);
}

export function throwLater(): Promise<void> {
  setImmediate(() => {
    throw new Error("nobody catches this");
  });
  return new Promise(() => undefined);
}

export const parentService = defineService("test.parent", { double: unary({ input: z.number(), output: z.number() }) });

export async function askParent(n: number): Promise<number> {
  const connection = parentConnection();
  if (connection === undefined) throw new Error("there is no parent");
  return connection.client(parentService).double(n);
}

/** Starts a worker in this worker, and so on, and lets the last one spin; each prints its pid. */
export async function nest(levels: number, tag: string): Promise<void> {
  console.log(`pid ${process.pid}`);
  if (levels === 0) spin();
  const worker = await FrayWorker.start({ kind: "process", name: tag, detached: levels === 2 });
  await worker.call(entry<typeof nest>(import.meta.url, "nest"), [levels - 1, tag]);
}

/** Starts a child that ignores requests to end, and fails as soon as the parent is gone: the worker then ends by itself, at once. */
export async function leaveChild(): Promise<void> {
  const child = spawn("sh", ["-c", 'trap "" TERM; while :; do sleep 1; done'], { stdio: "ignore" });
  console.log(`pid ${process.pid}`);
  console.log(`pid ${String(child.pid)}`);
  console.log("left");
  await parentConnection()?.closed;
  throw new Error("the parent is gone");
}

let member: PoolMember | undefined;

export function prepare(given: PoolMember): void {
  member = given;
}

export function tagged(item: number): { item: number; index: number | undefined; pid: number } {
  return { item, index: member?.index, pid: process.pid };
}

export function failPrepare(): void {
  throw new Error("not today");
}

/** Dies at one item. */
export function dieAt(item: number): number {
  if (item === 5) process.kill(process.pid, "SIGKILL");
  return item;
}

/** Uses up all memory. */
export function hoard(): never {
  const kept: unknown[] = [];
  for (;;) kept.push({ numbers: [Math.random()] });
}
