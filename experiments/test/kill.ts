import { expect } from "vitest";

import { processesOf, untilNoneIsLeft } from "./processes.js";
import { digestsOf, firstLm, type Finished } from "./run-command.js";

/** A process of a run: the command itself, the worker that runs a step, or the youngest process that this worker has started (a pool's, where the step has one). */
export type Victim = "command" | "worker" | "youngest";

/** When to kill which process of a run. */
export interface Kill {
  readonly victim: Victim;
  /** Step at which the process is killed. */
  readonly step: string;
  /** Milliseconds after the step's process has started; or when the step first tells how far it is. */
  readonly after: number | "progress";
}

/**
 * Runs first-lm, kills one of its processes with SIGKILL, and checks that within five seconds nothing of the run is left. A run that ends before the
 * moment comes is not killed, and one whose step was already done when its worker was killed goes on.
 */
export async function firstLmKilled(directory: string, args: readonly string[], { victim, step, after }: Kill): Promise<Finished> {
  let gone: Promise<void> | undefined;
  let stepDone = false;
  const kill = async (command: number, worker: number, mark: string): Promise<void> => {
    const youngest = (await processesOf(mark)).map(({ pid }) => pid).sort((a, b) => b - a)[0];
    const pid = { command, worker, youngest }[victim];
    if (pid === undefined || !(await processesOf(mark)).some((found) => found.pid === pid)) return;
    process.kill(pid, "SIGKILL");
    await untilNoneIsLeft(mark).catch((error: unknown) => {
      if (victim === "command" || !stepDone) throw error;
    });
  };
  let worker: number | undefined;
  const finished = await firstLm(directory, args, (event, child, mark) => {
    if (event.step !== step) return;
    stepDone ||= event.event === "step-finished";
    worker ??= event.event === "job" ? event.pid : undefined;
    if (gone !== undefined || worker === undefined || (after === "progress" && event.event !== "progress")) return;
    const { pid = 0 } = child;
    const chosen = worker;
    gone = new Promise<void>((resolve) => setTimeout(resolve, after === "progress" ? 0 : after)).then(() => kill(pid, chosen, mark));
    // Its failure is told below, when the run has ended.
    gone.catch(() => undefined);
  });
  await gone;
  return finished;
}

/** Runs first-lm to its end after it was killed, and checks that it comes to the very artifacts of a run that was not. Gives the run. */
export async function expectSameArtifacts(directory: string, args: readonly string[], whole: Finished): Promise<Finished> {
  const again = await firstLm(directory, args);
  expect([again.code, again.stderr]).toEqual([0, ""]);
  expect(digestsOf(again)).toEqual(digestsOf(whole));
  return again;
}
