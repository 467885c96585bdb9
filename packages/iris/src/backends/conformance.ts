import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { MarinError } from "../platform.js";
import type { ClusterBackend, ClusterLine, ClusterSubmission, ClusterTask } from "./backend.js";

/** One thing that a backend must do. */
export interface ConformanceCase {
  /** What it is, for the title of a test. */
  readonly name: string;
  /**
   * Tries it, with real tasks: commands of `/bin/sh`.
   *
   * @param backend - a cluster with room for three tasks at once
   * @param timeoutMs - longest wait for a task to come to an end. Default 120,000
   * @throws MarinError IRIS_CONFORMANCE saying what was expected and what was found
   */
  run(backend: ClusterBackend, timeoutMs?: number): Promise<void>;
}

const cases: ConformanceCase[] = [
  {
    name: "each task knows its place, and what it writes is its own, whole and in order, from any offset",
    run: async (backend: ClusterBackend, timeoutMs?: number): Promise<void> => {
      const script = 'echo "$IRIS_TASK_INDEX of $IRIS_NUM_TASKS in $IRIS_JOB_ID"; i=0; while [ $i -lt 500 ]; do echo "line $i"; i=$((i+1)); done; printf "the last line"';
      const submission = shell(script, { tasks: 3 });
      await backend.submit(submission);
      const states = await ended(backend, submission.key, timeoutMs);
      expectEqual("states", states.map(({ state }) => state), ["succeeded", "succeeded", "succeeded"]);
      for (const taskIndex of [0, 1, 2]) {
        const all = await wholeLog(backend, submission.key, taskIndex);
        expectEqual(`log of task ${String(taskIndex)}`, all.map(({ message }) => message), [`${String(taskIndex)} of 3 in /conformance`, ...Array.from({ length: 500 }, (_, line) => `line ${String(line)}`), "the last line"]);
        const { lines, end } = await backend.logs(submission.key, taskIndex, 100);
        expectEqual("the log from an offset", [lines.slice(0, 5), end], [all.slice(100, 105), true]);
      }
      await backend.forget(submission.key);
    },
  },
  {
    name: "a submission that comes again runs once",
    run: async (backend: ClusterBackend, timeoutMs?: number): Promise<void> => {
      const submission = shell("echo once");
      await Promise.all([backend.submit(submission), backend.submit(submission)]);
      await ended(backend, submission.key, timeoutMs);
      await backend.submit(submission);
      await ended(backend, submission.key, timeoutMs);
      expectEqual("its log", (await wholeLog(backend, submission.key, 0)).map(({ message }) => message), ["once"]);
      await backend.forget(submission.key);
    },
  },
  {
    name: "one question tells of many submissions, and of none that the cluster does not know",
    run: async (backend: ClusterBackend, timeoutMs?: number): Promise<void> => {
      const submissions = [shell("exit 0"), shell("exit 3"), shell("kill -SEGV $$")];
      for (const submission of submissions) await backend.submit(submission);
      for (const { key } of submissions) await ended(backend, key, timeoutMs);
      const keys = submissions.map(({ key }) => key);
      const all = await backend.status([...keys, "unknown"]);
      expectEqual("keys", [...all.keys()].sort(), [...keys].sort());
      const [fine, exit, signal] = keys.map((key) => all.get(key)?.[0]);
      expectEqual("state", fine?.state, "succeeded");
      expectEqual("exit code", exit?.state === "failed" && exit.cause.kind === "exit" && exit.cause.code, 3);
      expectEqual("signal", signal?.state === "failed" && signal.cause.kind === "signal" && signal.cause.signal, "SIGSEGV");
      for (const key of keys) await backend.forget(key);
      expectEqual("what is known once all is forgotten", (await backend.status(keys)).size, 0);
    },
  },
  {
    name: "a task that is cancelled ends, even where it ignores TERM; one that has ended stays as it is",
    run: async (backend: ClusterBackend, timeoutMs?: number): Promise<void> => {
      const submission = shell('trap "" TERM; echo ready; while :; do sleep 1; done');
      await backend.submit(submission);
      await untilLine(backend, submission.key, "ready", timeoutMs);
      await backend.cancel(submission.key, 200);
      expectEqual("state", (await ended(backend, submission.key, timeoutMs)).map(({ state }) => state), ["cancelled"]);
      const fine = shell("exit 0");
      await backend.submit(fine);
      await ended(backend, fine.key, timeoutMs);
      await backend.cancel(fine.key, 200);
      await backend.cancel("unknown", 200);
      expectEqual("state", (await backend.status([fine.key])).get(fine.key)?.[0]?.state, "succeeded");
      for (const { key } of [submission, fine]) await backend.forget(key);
    },
  },
  {
    name: "a task whose time is up has failed of it",
    run: async (backend: ClusterBackend, timeoutMs?: number): Promise<void> => {
      const submission = shell("echo started; sleep 600", { timeoutMs: 500 });
      await backend.submit(submission);
      const [task] = await ended(backend, submission.key, timeoutMs);
      expectEqual("cause", task?.state === "failed" && task.cause.kind, "timeout");
      await backend.forget(submission.key);
    },
  },
  {
    name: "the tasks of a gang run at once, and one that fails ends the others",
    run: async (backend: ClusterBackend, timeoutMs?: number): Promise<void> => {
      const submission = shell('echo ready; if [ "$IRIS_TASK_INDEX" = 1 ]; then sleep 1; exit 9; fi; sleep 600', { tasks: 3, gang: true });
      await backend.submit(submission);
      const states = await ended(backend, submission.key, timeoutMs);
      expectEqual("states", states.map(({ state }) => state), ["cancelled", "failed", "cancelled"]);
      await backend.forget(submission.key);
    },
  },
  {
    name: "what the cluster could never run is said to be so",
    run: async (backend: ClusterBackend, timeoutMs?: number): Promise<void> => {
      const submission = shell("exit 0", { resources: { cpu: 1_000_000, memoryBytes: 0, diskBytes: 0 } });
      await backend.submit(submission);
      const [task] = await ended(backend, submission.key, timeoutMs);
      expectEqual("state", task?.state, "unschedulable");
      await backend.forget(submission.key);
    },
  },
];

/** What every {@link ClusterBackend} is held to. In a test runner: `test.each(clusterConformance)("$name", ({ run }) => run(backend))`. */
export const clusterConformance: readonly ConformanceCase[] = cases;

function shell(script: string, more: Partial<ClusterSubmission> = {}): ClusterSubmission {
  return {
    key: `conformance-${randomUUID()}`.slice(0, 48),
    jobId: "/conformance",
    jobUid: "conformance",
    tasks: 1,
    attempt: 0,
    gang: false,
    work: { kind: "command", argv: ["/bin/sh", "-c", script] },
    setup: [],
    env: {},
    resources: { cpu: 0.1, memoryBytes: 0, diskBytes: 0 },
    ports: [],
    ...more,
  };
}

async function poll<T>(what: string, timeoutMs: number, look: () => Promise<T | undefined>): Promise<T> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > giveUpAt) throw new MarinError("IRIS_CONFORMANCE", `${what}: not within ${String(timeoutMs)} ms.`);
    await delay(20);
  }
}

function ended(backend: ClusterBackend, key: string, timeoutMs = 120_000): Promise<readonly ClusterTask[]> {
  return poll(`the end of ${key}`, timeoutMs, async () => {
    const tasks = (await backend.status([key])).get(key);
    if (tasks === undefined) throw new MarinError("IRIS_CONFORMANCE", `The cluster does not know the submission ${key} any more.`);
    return tasks.some(({ state }) => state === "pending" || state === "running") ? undefined : tasks;
  });
}

async function untilLine(backend: ClusterBackend, key: string, message: string, timeoutMs = 120_000): Promise<void> {
  await poll(`the line "${message}"`, timeoutMs, async () => ((await backend.logs(key, 0, 0)).lines.some((line) => line.message === message) ? true : undefined));
}

/** In the pieces in which it comes. */
async function wholeLog(backend: ClusterBackend, key: string, taskIndex: number): Promise<ClusterLine[]> {
  const all: ClusterLine[] = [];
  for (let offset = 0; ; ) {
    const { lines, next, end } = await backend.logs(key, taskIndex, offset);
    all.push(...lines);
    if (end && lines.length === 0) return all;
    offset = next;
  }
}

function expectEqual(what: string, found: unknown, expected: unknown): void {
  if (isDeepStrictEqual(found, expected)) return;
  throw new MarinError("IRIS_CONFORMANCE", `${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}.`, { data: { what } });
}
