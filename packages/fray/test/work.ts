import { threadId } from "node:worker_threads";
import { parentConnection } from "@marin/fray";

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
