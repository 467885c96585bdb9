import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Whether a process runs; one that is dead and not yet reaped does not. */
export function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${String(pid)}/status`, "latin1"));
  } catch {
    return false;
  }
}

/** Waits until none of the processes runs, and gives the milliseconds that took. There is no event for processes of others. */
export async function gone(pids: readonly number[], timeoutMs: number): Promise<number> {
  const start = performance.now();
  while (pids.some(runs)) {
    if (performance.now() - start > timeoutMs) throw new Error(`still there after ${String(timeoutMs)} ms: ${pids.filter(runs).join(", ")}`);
    await delay(20);
  }
  return performance.now() - start;
}

/** Processes, of those this user may look into, whose environment holds the text. Linux only. */
export function processesWith(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return runs(pid) && readFileSync(`/proc/${String(pid)}/environ`, "latin1").includes(text);
      } catch {
        return false;
      }
    });
}
