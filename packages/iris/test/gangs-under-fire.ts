import { seededRandom } from "@marin/rigging";
import { expect } from "vitest";
import type { Resources } from "../src/jobs/job-spec.js";
import { isFinal } from "../src/jobs/job-status.js";
import type { AttemptModel, JobModel } from "../src/jobs/model.js";
import type { SchedulingWorker } from "../src/scheduling/snapshot.js";
import { ClusterSimulation } from "./cluster-simulation.js";
import { specOf } from "./job-specs.js";

const gpus = 4;

function worker(index: number, generation = 0): SchedulingWorker {
  const capacity: Resources = { cpu: 8, memoryBytes: 0, diskBytes: 0, device: { kind: "gpu", count: gpus } };
  return { name: `w${String(index)}-${String(generation)}`, capacity, attributes: { rack: `r${String(index % 3)}` }, taints: [] };
}

/** Which attempts of a gang run and were not told to stop, and which were. */
function membersOf(job: JobModel): { readonly live: AttemptModel[]; readonly stopping: AttemptModel[] } {
  const current = job.tasks.flatMap((task) => (task.current === undefined ? [] : [task.current]));
  return { live: current.filter(({ stop }) => stop === undefined), stopping: current.filter(({ stop }) => stop !== undefined) };
}

function checkGang(job: JobModel, stoppedBefore: ReadonlySet<string>): void {
  const { live, stopping } = membersOf(job);
  const succeeded = job.tasks.filter(({ state }) => state === "SUCCEEDED");
  // All of it, with one number, or nothing that goes on: a part is being stopped at once.
  if (live.length > 0) expect({ job: job.uid, all: live.length + succeeded.length, stopping: stopping.length }).toEqual({ job: job.uid, all: job.tasks.length, stopping: 0 });
  expect(new Set([...live, ...stopping].map(({ number }) => number)).size).toBeLessThanOrEqual(1);
  // What was told to stop at the last tick is gone.
  for (const { uid } of stopping) expect(stoppedBefore.has(uid)).toBe(false);
  if (job.ended === undefined && job.stop === undefined && stopping.length === 0) expect(new Set(job.tasks.map(({ attempt }) => attempt)).size).toBe(1);
}

function checkRoom(simulation: ClusterSimulation): void {
  const placed = simulation.placed();
  for (const { name, capacity } of simulation.workers) {
    const there = placed.filter((each) => each.worker === name);
    expect(there.reduce((sum, { resources }) => sum + resources.cpu, 0)).toBeLessThanOrEqual(capacity.cpu);
    expect(there.reduce((sum, { resources }) => sum + (resources.device?.count ?? 0), 0)).toBeLessThanOrEqual(gpus);
  }
}

/**
 * Gangs on a cluster in which programs fail, workers are lost, jobs are cancelled and others evict them, all by chance; checked after every tick.
 *
 * @param seed - of the chances
 * @returns how often a gang started again, and how often after some of its tasks had succeeded
 */
function gangsUnderFire(seed: number): { readonly restarts: number; readonly afterSuccess: number } {
  const random = seededRandom(seed);
  const chance = (probability: number): boolean => random() < probability;
  const pick = <T>(all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)];
  const simulation = new ClusterSimulation(Array.from({ length: 9 }, (_, index) => worker(index)));
  let generation = 0;
  let restarts = 0;
  let afterSuccess = 0;
  for (let tick = 0; tick < 300 && (tick < 120 || simulation.jobs.size > 0); tick += 1) {
    if (tick < 120) {
      if (chance(0.3)) {
        const band = pick(["PRODUCTION", "INTERACTIVE", "BATCH"] as const) ?? "BATCH";
        const gang = chance(0.5) ? {} : { groupBy: "rack" };
        const device = { kind: "gpu" as const, count: 1 + Math.floor(random() * gpus) };
        simulation.submit(pick(["ann", "bob"]) ?? "", specOf({ replicas: 2 + Math.floor(random() * 2), gang, band, resources: { cpu: 1, device }, maxRetriesFailure: 3, maxRetriesPreemption: 20, backoff: { initialMs: 1, maxMs: 3 } }));
      }
      if (chance(0.1)) simulation.loseWorker(pick(simulation.workers)?.name ?? "");
      if (chance(0.02)) simulation.on(pick([...simulation.jobs.keys()]) ?? "", { type: "cancelled", by: "ann" });
    }
    while (simulation.workers.length < 9) simulation.workers.push(worker(Math.floor(random() * 9), (generation += 1)));
    for (const attempt of [...simulation.processes.values()]) {
      const before = simulation.jobOf(attempt.uid);
      if (tick < 120 && chance(0.02)) simulation.processEnded(attempt, { kind: "exit", code: 1 });
      else if (chance(0.15)) simulation.processEnded(attempt);
      const after = simulation.jobOf(attempt.uid);
      const numberOf = (job: JobModel | undefined): number => Math.max(...(job?.tasks.map((task) => task.attempt) ?? [0]));
      if (numberOf(after) > numberOf(before)) {
        restarts += 1;
        if (before?.tasks.some(({ state }) => state === "SUCCEEDED") === true) {
          afterSuccess += 1;
          expect(after?.tasks.every(({ state }) => state !== "SUCCEEDED")).toBe(true);
        }
      }
    }
    const stopping = new Set([...simulation.jobs.values()].flatMap((job) => membersOf(job).stopping.map(({ uid }) => uid)));
    simulation.tick();
    for (const job of simulation.jobs.values()) checkGang(job, stopping);
    checkRoom(simulation);
  }
  // Once nothing is broken any more, everything comes to an end.
  expect([...simulation.jobs.values()].map((job) => [job.uid, job.tasks[0]?.reason?.message])).toEqual([]);
  for (const job of simulation.ended) expect(job.tasks.every(({ state }) => isFinal(state))).toBe(true);
  expect(simulation.processes.size).toBe(0);
  return { restarts, afterSuccess };
}

/**
 * Several of them, among which the fire must have been real.
 *
 * @param first - the first seed
 * @param count - how many
 */
export function clustersUnderFire(first: number, count: number): void {
  const seen = { restarts: 0, afterSuccess: 0 };
  for (let seed = first; seed < first + count; seed += 1) {
    const { restarts, afterSuccess } = gangsUnderFire(seed);
    seen.restarts += restarts;
    seen.afterSuccess += afterSuccess;
  }
  expect(seen.restarts).toBeGreaterThan(5 * count);
  expect(seen.afterSuccess).toBeGreaterThan(0);
}
