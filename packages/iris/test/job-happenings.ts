import fc from "fast-check";
import { expect } from "vitest";
import { isFinal } from "../src/jobs/job-status.js";
import type { Cause, JobModel, JobModelEvent } from "../src/jobs/model.js";
import { apply, newJob } from "../src/jobs/state-machine.js";
import { specOf } from "./job-specs.js";
import { ReferenceJob } from "./reference-job.js";

/** Anything that can happen, by small numbers that are turned into names when it does. */
const happening = fc.record({
  what: fc.constantFrom("assign", "assign", "assign", "building", "started", "started", "ended", "ended", "ended", "workerLost", "preempted", "tick", "tick", "cancelled", "completed", "unschedulable", "reason"),
  which: fc.nat({ max: 200 }),
  how: fc.constantFrom("succeeded", "succeeded", "exit", "signal", "threw", "oom", "disk", "setup-failed", "start-failed"),
  later: fc.nat({ max: 40 }),
});

/** Specs with small budgets and limits. */
export const specs = fc
  .record({
    replicas: fc.integer({ min: 1, max: 4 }),
    isGang: fc.boolean(),
    maxRetriesFailure: fc.nat({ max: 2 }),
    maxRetriesPreemption: fc.nat({ max: 2 }),
    maxTaskFailures: fc.nat({ max: 2 }),
    timeoutMs: fc.constantFrom(undefined, undefined, 60),
    schedulingTimeoutMs: fc.constantFrom(undefined, undefined, 90),
    initialMs: fc.constantFrom(0, 10),
  })
  .map(({ isGang, maxTaskFailures, initialMs, ...rest }) => specOf({ ...rest, backoff: { initialMs, maxMs: 25 }, ...(isGang ? { gang: {} } : { maxTaskFailures }) }));

/** A cause of that kind. */
export function causeOf(kind: string): Cause {
  return { kind, code: 1, signal: "SIGKILL", failure: {}, usedBytes: 1, limitBytes: 1, message: "", worker: "w0" } as unknown as Cause;
}

function shown(job: JobModel): string[] {
  return job.tasks.map(({ state, attempt, current, failures, preemptions }) => [state, attempt, current?.uid ?? "", current?.stop?.kind ?? "", failures, preemptions].join(" "));
}

/**
 * Compares the state machine with the rules written down a second time, over sequences of events by chance.
 *
 * @param numRuns - how many sequences
 */
export function anySequence(numRuns: number): void {
  fc.assert(
    fc.property(specs, fc.array(happening, { minLength: 1, maxLength: 60 }), (spec, happenings) => {
      let now = 1_000;
      let job = newJob({ uid: "u", id: "/job", user: "ann", spec, now }).job;
      const reference = new ReferenceJob(spec, now);
      const uids: string[] = ["unknown"];
      const ended = new Set<string>();
      for (const { what, which, how, later } of happenings) {
        now += later;
        const uid = uids[which % uids.length] ?? "";
        const worker = `w${String(which % 3)}`;
        let event: JobModelEvent;
        if (what === "assign") {
          // Now and then a part of the tasks, or the same one twice.
          const count = which % 5 === 0 ? which % (spec.replicas + 1) : spec.replicas;
          const placements = Array.from({ length: count }, (_, place) => ({ taskIndex: which % 7 === 0 ? 0 : place, worker: `w${String((which + place) % 3)}`, attemptUid: `a${String(uids.length + place)}` }));
          uids.push(...placements.map(({ attemptUid }) => attemptUid));
          event = { type: "assigned", band: "INTERACTIVE", placements };
          reference.assign(placements, now);
        } else if (what === "building" || what === "started") {
          event = { type: what, attemptUid: uid };
          reference[what](uid, now);
        } else if (what === "ended") {
          event = { type: "ended", attemptUid: uid, outcome: how === "succeeded" ? { kind: "succeeded" } : { kind: "failed", cause: causeOf(how) } };
          reference.over(uid, how, now);
        } else if (what === "workerLost") {
          event = { type: "workerLost", worker, message: "" };
          reference.workerLost(worker, now);
        } else if (what === "preempted") {
          event = { type: "preempted", attemptUid: uid, by: "/big" };
          reference.preempted(uid);
        } else if (what === "tick") {
          event = { type: "tick" };
          reference.tick(now);
        } else if (what === "reason") {
          event = { type: "reason", reason: { dimension: "cpu", message: String(which), workers: 1, possible: 1, withRoom: 0, waiting: 1 } };
          reference.told = [];
        } else {
          // The ends of jobs are rarer than the rest.
          if (which % 6 !== 0) continue;
          event = what === "unschedulable" ? { type: what, shortage: { dimension: "cpu", asked: "", available: "", nearest: "" } } : { type: what, by: "ann" };
          reference.end(what, now);
        }
        const before = job;
        const frozen = JSON.stringify(before);
        const { job: after, effects, wakeAt } = apply(before, event, now);
        job = after;
        expect(shown(job)).toEqual(reference.shown());
        expect(job.ended?.state ?? "").toBe(reference.ended);
        expect(effects.flatMap((effect) => (effect.type === "stop" ? [[effect.attemptUid, effect.cause.kind]] : [])).sort()).toEqual([...reference.told].sort());
        // Pure: the version before is untouched, and what did not change is the same object.
        expect(JSON.stringify(before)).toBe(frozen);
        if (JSON.stringify(job) === frozen) expect(job).toBe(before);
        for (const [index, task] of job.tasks.entries()) if (JSON.stringify(task) === JSON.stringify(before.tasks[index])) expect(task).toBe(before.tasks[index]);
        // Each attempt ends once; the job ends once, when no attempt is left.
        for (const effect of effects) {
          if (effect.type === "attemptEnded") {
            expect(ended.has(effect.attempt.uid)).toBe(false);
            ended.add(effect.attempt.uid);
            expect(isFinal(effect.attempt.state)).toBe(true);
          }
        }
        expect(effects.filter(({ type }) => type === "jobEnded").length).toBe(before.ended === undefined && job.ended !== undefined ? 1 : 0);
        if (job.ended !== undefined) expect(job.tasks.every(({ current }) => current === undefined)).toBe(true);
        if (wakeAt !== undefined) expect(wakeAt).toBeGreaterThanOrEqual(now);
      }
    }),
    { numRuns },
  );
}
