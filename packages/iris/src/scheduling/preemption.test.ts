import { seededRandom } from "@marin/rigging";
import { expect, test } from "vitest";
import { ClusterSimulation } from "../../test/cluster-simulation.js";
import { specOf } from "../../test/job-specs.js";
import type { Band } from "../jobs/job-spec.js";
import { spendOf } from "./fair-share.js";
import type { PlacedAttempt, SchedulingWorker } from "./snapshot.js";

const ranks: readonly Band[] = ["PRODUCTION", "INTERACTIVE", "BATCH"];

function workers(count: number): SchedulingWorker[] {
  return Array.from({ length: count }, (_, index) => ({ name: `w${String(index)}`, capacity: { cpu: 4, memoryBytes: 0, diskBytes: 0 }, attributes: {}, taints: [] }));
}

/** A simulation that looks at every eviction. */
class Watch {
  readonly simulation: ClusterSimulation;
  evictions = 0;
  /** Beneficiaries whose places are not theirs yet, with the tick of the eviction. */
  readonly #owed = new Map<string, number>();

  constructor(simulation: ClusterSimulation) {
    this.simulation = simulation;
  }

  tick(): void {
    const { simulation } = this;
    const before = new Map(simulation.placed().map((attempt) => [attempt.attemptUid, attempt]));
    // What was told to stop at the last tick goes at this one: it cannot be evicted any more.
    simulation.tick();
    const { preempt = [], reservations = [], assign = [] } = simulation.decision ?? {};
    for (const { attemptUid, by } of preempt) {
      this.evictions += 1;
      const victim = before.get(attemptUid) as PlacedAttempt;
      const band = reservations.find(({ jobUid }) => jobUid === by.jobUid)?.band ?? "BATCH";
      // No eviction within a band, nor by a job of the same user that was declared no higher.
      expect(ranks.indexOf(victim.band)).toBeGreaterThan(ranks.indexOf(band));
      const beneficiary = simulation.jobs.get(by.jobUid);
      if (beneficiary?.user === victim.user) expect(ranks.indexOf(victim.declaredBand)).toBeGreaterThan(ranks.indexOf(beneficiary.spec.band));
      this.#owed.set(by.jobUid, simulation.now);
    }
    for (const { jobUid } of assign) this.#owed.delete(jobUid);
    // Victims need a tick to end; at the next decision the beneficiary has its place.
    for (const since of this.#owed.values()) expect(simulation.now - since).toBeLessThanOrEqual(1);
  }
}

test("Preemption without thrash: two users at the edge of their budgets for 1,000 ticks", () => {
  const budgets = { ann: 40, bob: 40 };
  // Room for 16 single processors; each user may spend on 8 of them, and has work for far more.
  const simulation = new ClusterSimulation(workers(4), budgets);
  const watch = new Watch(simulation);
  const random = seededRandom(11);
  const starts = { interactive: 0, batch: 0 };
  let finished = 0;
  for (let tick = 0; tick < 1_000; tick += 1) {
    for (const user of ["ann", "bob"]) {
      const waiting = [...simulation.jobs.values()].filter((job) => job.user === user).length;
      // Now and then one of them has nothing to do, and the other takes all; then the first comes back.
      const away = (Math.floor(tick / 50) + (user === "ann" ? 0 : 1)) % 4 === 0;
      if (!away && waiting < 14) simulation.submit(user, specOf({ resources: { cpu: 1 + Math.floor(random() * 2) }, maxRetriesPreemption: 1_000 }));
    }
    for (const attempt of [...simulation.processes.values()]) {
      if (simulation.now - attempt.assignedAt < 10 + random() * 20) continue;
      simulation.processEnded(attempt);
      finished += 1;
    }
    watch.tick();
    for (const { band, places } of simulation.decision?.assign ?? []) starts[band === "BATCH" ? "batch" : "interactive"] += places.length;
    for (const user of ["ann", "bob"] as const) {
      const spend = simulation.placed().filter((each) => each.user === user && each.band !== "BATCH").reduce((sum, { resources }) => sum + spendOf(resources), 0);
      expect(spend).toBeLessThanOrEqual(budgets[user]);
    }
  }
  // Each eviction is for a start within a budget, and there is a reason for it: most starts need none.
  expect(watch.evictions).toBeGreaterThan(0);
  expect(watch.evictions).toBeLessThan(starts.interactive);
  expect(watch.evictions).toBeLessThan(finished / 2);
});

test("Preemption without thrash: where nothing comes and nothing ends, evictions cease", () => {
  const simulation = new ClusterSimulation(workers(4), { ann: 40, bob: 40 });
  const watch = new Watch(simulation);
  for (let count = 0; count < 20; count += 1) simulation.submit("ann", specOf({ maxRetriesPreemption: 1_000 }));
  for (let tick = 0; tick < 10; tick += 1) watch.tick();
  for (let count = 0; count < 20; count += 1) simulation.submit("bob", specOf({ maxRetriesPreemption: 1_000 }));
  for (let tick = 0; tick < 10; tick += 1) watch.tick();
  // Ann had all 16; what she has beyond her budget goes for what Bob has within his.
  expect(watch.evictions).toBe(8);
  const shares = (): unknown => ["ann", "bob"].map((user) => simulation.placed().filter((each) => each.user === user && !each.stopping).map(({ band }) => band).sort());
  const settled = shares();
  expect(settled).toEqual([Array<string>(8).fill("INTERACTIVE"), Array<string>(8).fill("INTERACTIVE")]);
  for (let tick = 0; tick < 980; tick += 1) watch.tick();
  expect(watch.evictions).toBe(8);
  expect(shares()).toEqual(settled);
});
