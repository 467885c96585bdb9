import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anySequence, causeOf, specs } from "../../test/job-happenings.js";
import { specOf } from "../../test/job-specs.js";
import type { JobSpec } from "./job-spec.js";
import type { AttemptOutcome, Cause, JobEffect, JobModel, JobModelEvent, JobTransition } from "./model.js";
import { apply, newJob, tasksToPlace, waitsBeforePlacement } from "./state-machine.js";

const succeeded: AttemptOutcome = { kind: "succeeded" };
const failed = (cause: Cause): AttemptOutcome => ({ kind: "failed", cause });
const exit: Cause = { kind: "exit", code: 3 };

/** A job under test, with a clock that only the test moves, and the effects so far. */
class Run {
  now = 1_000;
  effects: JobEffect[] = [];
  transition: JobTransition;

  constructor(fields: Omit<JobSpec, "name" | "entry"> = {}) {
    this.transition = newJob({ uid: "u", id: "/job", user: "ann", spec: specOf(fields), now: this.now });
  }

  get job(): JobModel {
    return this.transition.job;
  }

  get states(): string[] {
    return this.job.tasks.map(({ state }) => state);
  }

  on(event: JobModelEvent): this {
    this.transition = apply(this.job, event, this.now);
    this.effects.push(...this.transition.effects);
    return this;
  }

  /** Assigns all tasks that can be, as attempts "<index>.<number>" on workers "w<index>"; runs them. */
  start(): this {
    const placements = tasksToPlace(this.job, this.now).map((taskIndex) => ({ taskIndex, worker: `w${String(taskIndex)}`, attemptUid: `${String(taskIndex)}.${String(this.job.tasks[taskIndex]?.attempt)}` }));
    this.on({ type: "assigned", band: "INTERACTIVE", placements });
    for (const { attemptUid } of placements) this.on({ type: "building", attemptUid }).on({ type: "started", attemptUid });
    return this;
  }

  ended(attemptUid: string, outcome: AttemptOutcome): this {
    return this.on({ type: "ended", attemptUid, outcome });
  }

  /** Lets everything that was told to stop end. */
  stopped(): this {
    for (const { current } of this.job.tasks) if (current?.stop !== undefined) this.ended(current.uid, failed({ kind: "signal", signal: "SIGTERM" }));
    return this;
  }
}

describe("independent tasks", () => {
  test("run side by side; the job has succeeded when all have", () => {
    const run = new Run({ replicas: 2 }).start();
    expect(run.states).toEqual(["RUNNING", "RUNNING"]);
    run.ended("1.0", succeeded);
    expect(run.job.ended).toBeUndefined();
    run.ended("0.0", succeeded);
    expect(run.job.ended).toEqual({ state: "SUCCEEDED", at: 1_000 });
    expect(run.effects.map(({ type }) => type)).toEqual(["launch", "launch", "attemptEnded", "attemptEnded", "jobEnded"]);
  });

  test("one of five that fails starts again alone", () => {
    const run = new Run({ replicas: 5, maxRetriesFailure: 1, backoff: { initialMs: 50 } }).start().ended("2.0", failed(exit));
    expect(run.states).toEqual(["RUNNING", "RUNNING", "PENDING", "RUNNING", "RUNNING"]);
    expect(tasksToPlace(run.job, run.now)).toEqual([]);
    expect(run.transition).toMatchObject({ wakeAt: 1_050, job: { tasks: [{}, {}, { attempt: 1, failures: 1, cause: exit, last: { uid: "2.0", state: "FAILED" } }, {}, {}] } });
    run.now = 1_050;
    run.on({ type: "tick" });
    expect(run.transition.effects).toEqual([{ type: "startWanted", at: 1_050 }]);
    run.start();
    expect(run.job.tasks[2]?.current?.uid).toBe("2.1");
  });

  test("one that fails for good ends the others, unless the job puts up with it", () => {
    const strict = new Run({ replicas: 3 }).start().ended("1.0", failed(exit));
    expect(strict.job.tasks.map(({ state, current }) => [state, current?.stop?.kind])).toEqual([["RUNNING", "task-failed"], ["FAILED", undefined], ["RUNNING", "task-failed"]]);
    expect(strict.stopped().job.ended).toEqual({ state: "FAILED", at: 1_000, cause: exit });
    const tolerant = new Run({ replicas: 3, maxTaskFailures: 1 }).start().ended("1.0", failed(exit));
    expect(tolerant.states).toEqual(["RUNNING", "FAILED", "RUNNING"]);
    expect(tolerant.ended("0.0", succeeded).ended("2.0", succeeded).job.ended?.state).toBe("SUCCEEDED");
  });

  test("waits between retries grow to a limit, and are counted by budget", () => {
    const run = new Run({ maxRetriesFailure: 4, backoff: { initialMs: 100, factor: 3, maxMs: 500 } });
    const waits = [0, 1, 2, 3].map((number) => {
      run.start().ended(`0.${String(number)}`, failed({ kind: "oom", usedBytes: 2, limitBytes: 1 }));
      const wait = (run.transition.wakeAt ?? NaN) - run.now;
      run.now += wait;
      return wait;
    });
    expect(waits).toEqual([100, 300, 500, 500]);
    run.start().ended("0.4", failed(exit));
    expect(run.job).toMatchObject({ ended: { state: "FAILED" }, tasks: [{ failures: 4, preemptions: 0 }] });
  });

  test("a lost worker is charged to the other budget, and not at all when nothing had begun", () => {
    const run = new Run({ maxRetriesPreemption: 1, backoff: { initialMs: 0 } });
    for (const number of [0, 1, 2]) {
      run.on({ type: "assigned", band: "BATCH", placements: [{ taskIndex: 0, worker: "w0", attemptUid: `0.${String(number)}` }] }).on({ type: "workerLost", worker: "w0", message: "silent" });
      expect(run.job.tasks[0]).toMatchObject({ state: "PENDING", attempt: number + 1, preemptions: 0 });
    }
    run.start().on({ type: "workerLost", worker: "w0", message: "silent" }).start().on({ type: "workerLost", worker: "w0", message: "silent" });
    expect(run.job.ended).toEqual({ state: "WORKER_FAILED", at: 1_000, cause: { kind: "node-lost", worker: "w0", message: "silent" } });
  });

  test("N-1 failed starts and a budget of N-1 end well", () => {
    const run = new Run({ maxRetriesPreemption: 3, backoff: { initialMs: 0 } });
    for (const number of [0, 1, 2]) run.start().ended(`0.${String(number)}`, failed({ kind: "start-failed", worker: "w0", message: "no process" }));
    expect(run.start().ended("0.3", succeeded).job.ended?.state).toBe("SUCCEEDED");
  });

  test("a time limit stops an attempt, which is FAILED and not repeated", () => {
    const run = new Run({ timeoutMs: 200, maxRetriesFailure: 5 }).start();
    expect(run.transition.wakeAt).toBe(1_200);
    run.now = 1_200;
    run.on({ type: "tick" });
    expect(run.transition.effects).toEqual([{ type: "stop", attemptUid: "0.0", worker: "w0", cause: { kind: "timeout", timeoutMs: 200 } }]);
    expect(run.states).toEqual(["RUNNING"]);
    expect(run.ended("0.0", succeeded).job.ended).toEqual({ state: "FAILED", at: 1_200, cause: { kind: "timeout", timeoutMs: 200 } });
  });

  test("who waits longer than allowed is UNSCHEDULABLE, with the last reason", () => {
    const run = new Run({ schedulingTimeoutMs: 2_000 });
    run.on({ type: "reason", reason: { dimension: "cpu", message: "waits for cpu: asks 9", workers: 1, possible: 1, withRoom: 0, waiting: 1 } });
    run.now = 2_999;
    expect(run.on({ type: "tick" }).states).toEqual(["PENDING"]);
    run.now = 3_000;
    expect(run.on({ type: "tick" }).job.ended).toMatchObject({ state: "UNSCHEDULABLE", cause: { kind: "scheduling-timeout", reason: "waits for cpu: asks 9" } });
  });

  test("a cancelled task is KILLED whatever it returned then, and the job ends when nothing runs", () => {
    const run = new Run({ replicas: 3, maxRetriesFailure: 9 }).start().ended("0.0", succeeded).on({ type: "cancelled", by: "ann", reason: "typo" });
    expect(run.job.ended).toBeUndefined();
    run.ended("1.0", succeeded).ended("2.0", failed(exit));
    expect(run.states).toEqual(["SUCCEEDED", "KILLED", "KILLED"]);
    expect(run.job.ended).toEqual({ state: "KILLED", at: 1_000, cause: { kind: "cancelled", by: "ann", reason: "typo" } });
  });

  test("a job that is declared done has succeeded", () => {
    const run = new Run({ replicas: 2 }).start().on({ type: "completed", by: "ann" });
    expect(run.stopped().job).toMatchObject({ ended: { state: "SUCCEEDED" }, tasks: [{ state: "SUCCEEDED" }, { state: "SUCCEEDED" }] });
  });

  test("who finished before giving way has succeeded; who did not starts again", () => {
    const run = new Run({ replicas: 2 }).start().on({ type: "preempted", attemptUid: "0.0", by: "/big" }).on({ type: "preempted", attemptUid: "1.0", by: "/big" });
    run.ended("0.0", succeeded).ended("1.0", failed({ kind: "exit", code: 143 }));
    expect(run.job.tasks).toMatchObject([{ state: "SUCCEEDED" }, { state: "PENDING", attempt: 1, failures: 0, preemptions: 1, cause: { kind: "preempted", by: "/big" } }]);
  });
});

describe("gangs", () => {
  const gang = (fields: Omit<JobSpec, "name" | "entry"> = {}): Run => new Run({ replicas: 3, gang: {}, backoff: { initialMs: 0 }, ...fields }).start();

  test("start together or not at all", () => {
    const run = new Run({ replicas: 2, gang: {} }).on({ type: "assigned", band: "BATCH", placements: [{ taskIndex: 0, worker: "w", attemptUid: "x" }] });
    expect(run.states).toEqual(["PENDING", "PENDING"]);
    expect(run.effects).toEqual([]);
  });

  test.each<[string, JobModelEvent]>([
    ["a failure that may be repeated", { type: "ended", attemptUid: "1.0", outcome: failed(exit) }],
    ["a lost worker", { type: "workerLost", worker: "w1", message: "silent" }],
    ["a preemption", { type: "preempted", attemptUid: "1.0", by: "/big" }],
  ])("%s sends all back to PENDING, who had succeeded as well, with one attempt number", (_, event) => {
    const run = gang({ maxRetriesFailure: 1 }).ended("2.0", succeeded).on(event);
    expect(run.effects.filter(({ type }) => type === "stop").map((effect) => "attemptUid" in effect && effect.attemptUid)).toContain("0.0");
    expect(tasksToPlace(run.job, run.now)).toEqual([]);
    run.stopped();
    expect(run.job.tasks).toMatchObject([0, 1, 2].map((index) => ({ index, state: "PENDING", attempt: 1 })));
    expect(run.effects.filter(({ type }) => type === "retry")).toMatchObject([{ taskIndexes: [0, 1, 2], number: 1 }]);
    expect(run.transition.effects.at(-1)).toEqual({ type: "startWanted", at: 1_000 });
    run.start();
    expect(run.job.tasks.map(({ current }) => current?.uid)).toEqual(["0.1", "1.1", "2.1"]);
  });

  test("a failure for good ends all", () => {
    const run = gang().ended("1.0", failed(exit)).stopped();
    expect(run.job).toMatchObject({ ended: { state: "FAILED", cause: exit }, tasks: [{ state: "KILLED" }, { state: "FAILED" }, { state: "KILLED" }] });
  });

  test("Impossible vs waiting: who is not looked for a worker yet says why", () => {
    const run = gang({ maxRetriesPreemption: 1, backoff: { initialMs: 50 } });
    expect(waitsBeforePlacement(run.job)).toBeUndefined();
    run.on({ type: "workerLost", worker: "w0", message: "silent" });
    expect(waitsBeforePlacement(run.job)).toEqual({ dimension: "gang", message: "waits for gang: all of it starts again, and 2 of its 3 tasks have not stopped yet", waiting: 1 });
    run.stopped();
    expect(waitsBeforePlacement(run.job)).toEqual({ dimension: "backoff", message: "waits for backoff: attempt 1 starts not before 1970-01-01T00:00:01.050Z", waiting: 3 });
    run.now = 1_050;
    expect(waitsBeforePlacement(run.on({ type: "tick" }).job)).toBeUndefined();
  });

  test("several losses at once are one restart", () => {
    const run = gang({ maxRetriesPreemption: 1 });
    run.on({ type: "workerLost", worker: "w0", message: "" }).on({ type: "workerLost", worker: "w1", message: "" }).stopped();
    expect(run.job.tasks.map(({ attempt, preemptions }) => [attempt, preemptions])).toEqual([[1, 1], [1, 1], [1, 1]]);
  });
});

describe("laws", () => {
  test("any sequence of events leads where the rules written down a second time lead", () => {
    anySequence(400);
  });

  test("a tick before wakeAt does nothing; one at wakeAt does something", () => {
    fc.assert(
      fc.property(specs, fc.array(fc.nat({ max: 3 }), { maxLength: 12 }), (spec, choices) => {
        let now = 1_000;
        let { job, wakeAt } = newJob({ uid: "u", id: "/job", user: "ann", spec, now });
        for (const [step, choice] of choices.entries()) {
          if (wakeAt !== undefined && choice === 0) {
            if (wakeAt > now) expect(apply(job, { type: "tick" }, wakeAt - 1).job).toBe(job);
            now = wakeAt;
            const ticked = apply(job, { type: "tick" }, now);
            expect(ticked.job).not.toBe(job);
            ({ job, wakeAt } = ticked);
            continue;
          }
          now += 5;
          const placements = tasksToPlace(job, now).map((taskIndex) => ({ taskIndex, worker: "w", attemptUid: `${String(step)}.${String(taskIndex)}` }));
          const current = job.tasks.find((task) => task.current !== undefined)?.current;
          const event: JobModelEvent =
            placements.length > 0 ? { type: "assigned", band: "BATCH", placements } : choice === 1 && current?.state === "ASSIGNED" ? { type: "started", attemptUid: current.uid } : { type: "ended", attemptUid: current?.uid ?? "", outcome: failed(exit) };
          ({ job, wakeAt } = apply(job, event, now));
        }
      }),
      { numRuns: 200 },
    );
  });

  test("Stale attempt fencing: delayed, repeated and shuffled reports of earlier attempts change nothing of later ones", () => {
    const report = fc.record({ kind: fc.constantFrom("building", "started", "ended"), how: fc.constantFrom("succeeded", "exit", "oom"), age: fc.nat({ max: 500 }), place: fc.nat({ max: 500 }) });
    fc.assert(
      fc.property(fc.boolean(), fc.integer({ min: 1, max: 3 }), fc.array(fc.constantFrom("exit", "lost", "preempted"), { minLength: 1, maxLength: 5 }), fc.array(report, { maxLength: 40 }), (isGang, replicas, ends, stale) => {
        const spec = specOf({ replicas, maxRetriesFailure: 9, backoff: { initialMs: 0 }, ...(isGang ? { gang: {} } : {}) });
        const story = (late: typeof stale): JobModel => {
          let job = newJob({ uid: "u", id: "/job", user: "ann", spec, now: 0 }).job;
          const over: string[] = [];
          let moment = 0;
          const on = (event: JobModelEvent): void => {
            const transition = apply(job, event, 1);
            job = transition.job;
            for (const effect of transition.effects) if (effect.type === "attemptEnded") over.push(effect.attempt.uid);
            moment += 1;
            for (const { kind, how, age, place } of late) {
              if (place % 30 !== moment % 30 || over.length === 0) continue;
              const attemptUid = over[age % over.length] ?? "";
              const outcome = how === "succeeded" ? succeeded : failed(causeOf(how));
              const fenced = apply(job, kind === "ended" ? { type: kind, attemptUid, outcome } : ({ type: kind, attemptUid, pid: 1 } as JobModelEvent), 1);
              expect(fenced.job).toBe(job);
              expect(fenced.effects).toEqual([]);
              job = fenced.job;
            }
          };
          for (const [round, end] of [...ends, "success"].entries()) {
            const uidOf = (index: number): string => `${String(index)}.${String(round)}`;
            const placements = tasksToPlace(job, 1).map((taskIndex) => ({ taskIndex, worker: `w${String(taskIndex)}`, attemptUid: uidOf(taskIndex) }));
            on({ type: "assigned", band: "INTERACTIVE", placements });
            for (const { attemptUid } of placements) on({ type: "started", attemptUid, pid: round });
            if (end === "success") for (const { attemptUid } of placements) on({ type: "ended", attemptUid, outcome: succeeded });
            else if (end === "exit") on({ type: "ended", attemptUid: uidOf(0), outcome: failed(exit) });
            else if (end === "lost") on({ type: "workerLost", worker: "w0", message: "" });
            else on({ type: "preempted", attemptUid: uidOf(0), by: "/big" });
            for (const { current } of job.tasks) if (current?.stop !== undefined) on({ type: "ended", attemptUid: current.uid, outcome: failed(exit) });
          }
          return job;
        };
        expect(story(stale)).toEqual(story([]));
      }),
      { numRuns: 300 },
    );
  });
});
