import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Resources } from "../jobs/job-spec.js";
import type { Constraint } from "./constraints.js";
import { type JobRequest, feasibility } from "./feasibility.js";
import { schedule } from "./scheduler.js";
import type { PlacedAttempt, SchedulingWorker, WaitingJob } from "./snapshot.js";

const gibibyte = 2 ** 30;

function room(cpu: number, memoryBytes = 0, device?: Resources["device"]): Resources {
  return { cpu, memoryBytes, diskBytes: 0, ...(device === undefined ? {} : { device }) };
}

const workers: SchedulingWorker[] = [
  { name: "small", capacity: room(4, 8 * gibibyte), attributes: { region: "eu", rack: "a" }, taints: [] },
  { name: "large", capacity: room(16, 64 * gibibyte, { kind: "gpu", variant: "h100", count: 8 }), attributes: { region: "us", rack: "b" }, taints: [] },
  { name: "odd", capacity: room(2, 256 * gibibyte), attributes: { region: "us", rack: "b" }, taints: ["flaky"] },
];

function request(resources: Resources, more: Partial<JobRequest> = {}): JobRequest {
  return { resources, constraints: [], tolerations: [], replicas: 1, ...more };
}

describe("Impossible vs waiting: what could never run", () => {
  const region = (value: string): Constraint => ({ attribute: "region", op: "EQ", value });

  test.each<[string, JobRequest, object]>([
    ["too many processors", request(room(17, gibibyte)), { dimension: "cpu", asked: "17", available: "16", nearest: "cpu 16, memoryBytes 1GiB on worker large" }],
    ["too much memory without the tainted one", request(room(1, 100 * gibibyte)), { dimension: "memoryBytes", asked: "100GiB", available: "64GiB", nearest: "cpu 1, memoryBytes 64GiB on worker large" }],
    ["too many devices", request(room(1, 0, { kind: "gpu", count: 9 })), { dimension: "gpu", asked: "9", available: "8", nearest: "cpu 1, gpu 8 on worker large" }],
    ["a kind that nobody has", request(room(1, 0, { kind: "tpu", count: 4 })), { dimension: "tpu", asked: "4", available: "0", nearest: "no device, or one of: cpu, gpu" }],
    ["a variant that nobody has", request(room(1, 0, { kind: "gpu", variant: "b200", count: 1 })), { dimension: "device", asked: "gpu b200", available: "h100", nearest: "device variant h100" }],
    ["a place that nobody is in", request(room(1), { constraints: [region("mars")] }), { dimension: "constraint", asked: 'region EQ "mars"', available: "region eu, us", nearest: "region eu (worker small)" }],
    ["a place without such a device", request(room(1, 0, { kind: "gpu", count: 1 }), { constraints: [region("eu")] }), { dimension: "constraint", available: "region eu, us, not together with the rest", nearest: "region us (worker large)" }],
    ["only tainted workers", request(room(1), { constraints: [{ attribute: "worker", op: "EQ", value: "odd" }] }), { dimension: "constraint", asked: 'worker EQ "odd"' }],
    ["each to be had, but not together", request(room(3, 9 * gibibyte), { constraints: [region("eu")] }), { dimension: "memoryBytes", nearest: "cpu 3, memoryBytes 8GiB on worker small" }],
    ["a gang too large for any group", request(room(4), { replicas: 6, gang: { groupBy: "rack" } }), { dimension: "gang", asked: "6 tasks at once with one rack, each cpu 4", available: "room for 1 (rack a)", nearest: "replicas 1 (rack a)" }],
    ["a gang too large for all", request(room(4), { replicas: 6, gang: {} }), { dimension: "gang", available: "room for 5", nearest: "replicas 5" }],
  ])("%s: the dimension, and the nearest that could be had", (_, asked, shortage) => {
    expect(feasibility(asked, workers)).toMatchObject(shortage);
  });

  test("combinations, no workers, and what fits", () => {
    const both = [workers[0], { ...(workers[2] as SchedulingWorker), taints: [] }] as SchedulingWorker[];
    expect(feasibility(request(room(3, 9 * gibibyte)), both)).toEqual({ dimension: "combination", asked: "cpu 3, memoryBytes 9GiB", available: "cpu 4, memoryBytes 8GiB; cpu 2, memoryBytes 256GiB", nearest: "cpu 3, memoryBytes 8GiB on worker small" });
    expect(feasibility(request(room(1)), [])).toMatchObject({ dimension: "workers" });
    expect(feasibility(request(room(1, 100 * gibibyte), { tolerations: ["flaky"] }), workers)).toBeUndefined();
    expect(feasibility(request(room(1), { constraints: [{ ...region("mars"), soft: true }] }), workers)).toBeUndefined();
    expect(feasibility(request(room(4), { replicas: 1000 }), workers)).toBeUndefined();
  });

  test("what ancestors hold on a lone worker until the job has ended", () => {
    const alone = [{ ...(workers[0] as SchedulingWorker) }];
    const held = { heldByAncestors: room(3) };
    expect(feasibility(request(room(2), held), alone)).toMatchObject({ dimension: "cpu", asked: "2", available: "1 beside what its ancestors hold", nearest: "cpu 1 on worker small, or less for the ancestors (cpu 0 for a parent that only waits)" });
    expect(feasibility(request(room(1), held), alone)).toBeUndefined();
    expect(feasibility(request(room(1), { ...held, replicas: 2, gang: {} }), alone)).toMatchObject({ dimension: "gang", nearest: expect.stringContaining("replicas 1") as string });
    expect(feasibility(request(room(2), held), workers)).toBeUndefined();
  });

  test("is exactly what does not start on empty workers", () => {
    const resources = fc.tuple(fc.nat({ max: 6 }), fc.nat({ max: 6 }), fc.constantFrom(undefined, { kind: "gpu" as const, count: 1 }, { kind: "gpu" as const, variant: "x", count: 2 })).map(([cpu, memory, device]) => room(cpu, memory, device));
    const cluster = fc.array(fc.record({ capacity: resources, zone: fc.constantFrom("a", "b"), taints: fc.subarray(["t"]) }), { minLength: 1, maxLength: 4 });
    const asked = fc.record({ resources, replicas: fc.integer({ min: 1, max: 4 }), gang: fc.constantFrom(undefined, {}, { groupBy: "zone" }), tolerations: fc.subarray(["t"]), zone: fc.constantFrom(undefined, "a", "c") });
    fc.assert(
      fc.property(cluster, asked, (all, { zone, gang, ...rest }) => {
        const empty = all.map(({ capacity, zone: at, taints }, index): SchedulingWorker => ({ name: `w${String(index)}`, capacity, attributes: { zone: at }, taints }));
        const constraints: Constraint[] = zone === undefined ? [] : [{ attribute: "zone", op: "EQ", value: zone }];
        const shortage = feasibility({ ...rest, constraints, gang }, empty);
        const taskIndexes = gang === undefined ? [0] : Array.from({ length: rest.replicas }, (_, index) => index);
        const job = { jobUid: "j", jobId: "/j", user: "ann", band: "BATCH" as const, depth: 0, rootSubmittedAt: 0, ...rest, constraints, gang, taskIndexes };
        const { assign } = schedule({ workers: empty, waiting: [job], placed: [], budgets: {}, reservations: [] });
        expect(shortage === undefined).toBe(assign.length > 0);
        if (shortage !== undefined) for (const text of [shortage.asked, shortage.available, shortage.nearest]) expect(text).not.toBe("");
      }),
      { numRuns: 300 },
    );
  });
});

test("Impossible vs waiting: every job that waits names what it waits for, and how many workers come into question", () => {
  const asks = (jobUid: string, resources: Resources, more: object = {}): WaitingJob => ({ jobUid, jobId: `/${jobUid}`, user: "ann", band: "BATCH", depth: 0, rootSubmittedAt: 0, resources, constraints: [], tolerations: [], taskIndexes: [0], ...more });
  const takes = (worker: string, resources: Resources): PlacedAttempt => ({ attemptUid: worker, jobUid: worker, jobId: `/${worker}`, taskIndex: 0, user: "bob", declaredBand: "BATCH", band: "BATCH", worker, resources, assignedAt: 0, running: true, stopping: false });
  const away = { ...(workers[0] as SchedulingWorker), name: "away", attributes: { region: "mars" }, accepting: false };
  const waiting = [
    asks("cpu", room(9)),
    asks("memory", room(1, 40 * gibibyte), { tolerations: [] }),
    asks("gpu", room(1, 0, { kind: "gpu", count: 3 })),
    asks("combination", room(3, 9 * gibibyte, undefined), { constraints: [{ attribute: "region", op: "IN", values: ["eu", "us"] }], tolerations: ["flaky"] }),
    asks("gang", room(3), { taskIndexes: [0, 1, 2, 3], gang: {} }),
    asks("workers", room(1), { constraints: [{ attribute: "region", op: "EQ", value: "mars" }] }),
  ];
  const placed = [takes("large", room(8, 30 * gibibyte, { kind: "gpu", count: 6 })), takes("odd", room(0.5, 200 * gibibyte)), takes("small", room(3, 0))];
  const { assign, reasons } = schedule({ workers: [...workers, away], waiting, placed, budgets: {}, reservations: [] });
  expect(assign).toEqual([{ jobUid: "combination", band: "BATCH", places: [{ taskIndex: 0, worker: "large" }] }]);
  expect(Object.fromEntries([...reasons].map(([uid, { dimension, message, possible, withRoom }]) => [uid, [dimension, possible, withRoom, message]]))).toEqual({
    cpu: ["cpu", 1, 0, "waits for cpu: asks 9, free 5 of 16 (0 of 1 possible workers have room; 4 in all)"],
    memory: ["memoryBytes", 1, 0, "waits for memoryBytes: asks 40GiB, free 25GiB of 64GiB (0 of 1 possible workers have room; 4 in all)"],
    gpu: ["gpu", 1, 0, "waits for gpu: asks 3, free 2 of 8 (0 of 1 possible workers have room; 4 in all)"],
    gang: ["gang", 3, 1, "waits for room for all 4 tasks at once: there is room for 1, each asks for cpu 3 (1 of 3 possible workers have room; 4 in all)"],
    workers: ["workers", 1, 0, "waits for workers: none of those that could run it takes tasks at present (0 of 1 possible workers have room; 4 in all)"],
  });
});
