import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Band, Resources } from "../jobs/job-spec.js";
import type { AttributeValue, Constraint } from "./constraints.js";
import { spendOf } from "./fair-share.js";
import { schedule } from "./scheduler.js";
import type { PlacedAttempt, Schedule, SchedulingSnapshot, SchedulingWorker, WaitingJob } from "./snapshot.js";

const gibibyte = 2 ** 30;

function room(cpu: number, memoryBytes = 0, device?: Resources["device"]): Resources {
  return { cpu, memoryBytes, diskBytes: 0, ...(device === undefined ? {} : { device }) };
}

function worker(name: string, capacity: Resources, more: Partial<SchedulingWorker> = {}): SchedulingWorker {
  return { name, capacity, attributes: {}, taints: [], ...more };
}

function job(jobUid: string, resources: Resources, more: Partial<WaitingJob> & { readonly tasks?: number } = {}): WaitingJob {
  const { tasks = 1, ...rest } = more;
  const taskIndexes = Array.from({ length: tasks }, (_, index) => index);
  return { jobUid, jobId: `/${jobUid}`, user: "ann", band: "INTERACTIVE", depth: 0, rootSubmittedAt: 0, resources, constraints: [], tolerations: [], taskIndexes, ...rest };
}

function attempt(attemptUid: string, on: string, resources: Resources, more: Partial<PlacedAttempt> = {}): PlacedAttempt {
  const band = more.band ?? "BATCH";
  return { attemptUid, jobUid: attemptUid, jobId: `/${attemptUid}`, taskIndex: 0, user: "bob", declaredBand: band, band, worker: on, resources, assignedAt: 0, running: true, stopping: false, ...more };
}

function decide(workers: readonly SchedulingWorker[], waiting: readonly WaitingJob[], more: Partial<SchedulingSnapshot> = {}): Schedule {
  return schedule({ workers, waiting, placed: [], budgets: {}, reservations: [], ...more });
}

/** "job.task@worker" of all that starts. */
function starts({ assign }: Schedule): string[] {
  return assign.flatMap(({ jobUid, places }) => places.map(({ taskIndex, worker: on }) => `${jobUid}.${String(taskIndex)}@${on}`));
}

describe("single tasks", () => {
  test("who came first goes first; what does not fit lets those behind it pass, and says why it waits", () => {
    const decision = decide([worker("w", room(4))], [job("a", room(2), { rootSubmittedAt: 1 }), job("b", room(3), { rootSubmittedAt: 2 }), job("c", room(2), { rootSubmittedAt: 3 })]);
    expect(starts(decision)).toEqual(["a.0@w", "c.0@w"]);
    expect(decision.reasons.get("b")).toEqual({ dimension: "cpu", message: "waits for cpu: asks 3, free 0 of 4 (0 of 1 possible workers have room; 1 in all)", workers: 1, possible: 1, withRoom: 0, waiting: 1 });
  });

  test("fractions of processors add up exactly; devices are used up", () => {
    expect(starts(decide([worker("w", room(1))], [job("a", room(0.1), { tasks: 11 })]))).toHaveLength(10);
    const gpu = { kind: "gpu" as const, count: 3 };
    const decision = decide([worker("w", room(64, 0, { kind: "gpu", variant: "H100", count: 8 }))], [job("a", room(1, 0, { ...gpu, variant: "h100" }), { tasks: 3 })]);
    expect(starts(decision)).toHaveLength(2);
    expect(decision.reasons.get("a")).toMatchObject({ dimension: "gpu", message: expect.stringContaining("waits for gpu: asks 3, free 2 of 8") as string, waiting: 1 });
  });

  test("workers with devices are left to those that ask for them, while there are others", () => {
    const workers = [worker("g", room(4, 0, { kind: "gpu", count: 1 })), worker("c", room(4))];
    expect(starts(decide(workers, [job("a", room(3)), job("b", room(2))]))).toEqual(["a.0@c", "b.0@g"]);
  });

  test.each<[string, Constraint[], string[]]>([
    ["EQ, whatever the case", [{ attribute: "region", op: "EQ", value: "EU" }], ["b", "d"]],
    ["NE, also where it is missing", [{ attribute: "region", op: "NE", value: "us" }], ["b", "c", "d"]],
    ["IN", [{ attribute: "region", op: "IN", values: ["us", "mars"] }], ["a"]],
    ["EXISTS", [{ attribute: "region", op: "EXISTS" }], ["a", "b", "d"]],
    ["NOT_EXISTS", [{ attribute: "region", op: "NOT_EXISTS" }], ["c"]],
    ["GT", [{ attribute: "speed", op: "GT", value: 2 }], ["c"]],
    ["GE and LT", [{ attribute: "speed", op: "GE", value: 2 }, { attribute: "speed", op: "LT", value: 3 }], ["b"]],
    ["LE", [{ attribute: "speed", op: "LE", value: 2 }], ["a", "b"]],
    ["the worker's own name", [{ attribute: "worker", op: "EQ", value: "c" }], ["c"]],
    ["a soft one prefers", [{ attribute: "region", op: "EQ", value: "eu", soft: true }, { attribute: "speed", op: "EXISTS", soft: true }], ["b", "d", "a", "c"]],
  ])("constraints: %s", (_, constraints, expected) => {
    const workers = [
      worker("a", room(1), { attributes: { region: "us", speed: 1 } }),
      worker("b", room(1), { attributes: { region: "eu", speed: 2 } }),
      worker("c", room(1), { attributes: { speed: 3 } }),
      worker("d", room(1), { attributes: { region: "eu", speed: "fast" } }),
    ];
    const order = starts(decide(workers, [job("j", room(1), { tasks: 4, constraints })])).map((start) => start.slice(-1));
    // Of those that are preferred equally, the first comes first.
    expect(order).toEqual(expected);
  });

  test("taints keep away who does not tolerate them; a worker that takes nothing gets nothing", () => {
    const workers = [worker("bad", room(4), { taints: ["flaky"] }), worker("away", room(4), { accepting: false })];
    expect(starts(decide(workers, [job("a", room(1))]))).toEqual([]);
    expect(starts(decide(workers, [job("a", room(1), { tolerations: ["flaky"] })]))).toEqual(["a.0@bad"]);
  });

  test("no more attempts start on a worker at a time than it may", () => {
    const decision = decide([worker("w", room(9))], [job("a", room(1), { tasks: 5 })], { maxStartingPerWorker: 3, placed: [attempt("x", "w", room(1), { running: false })] });
    expect(starts(decision)).toHaveLength(2);
    expect(decision.reasons.get("a")?.dimension).toBe("building");
  });
});

describe("order", () => {
  test("bands before all, then the user who has taken least, then deeper jobs", () => {
    const waiting = [
      job("batch", room(1), { band: "BATCH", user: "eve" }),
      job("ann-old", room(1), { user: "ann", rootSubmittedAt: 1 }),
      job("ann-child", room(1), { user: "ann", rootSubmittedAt: 2, depth: 1 }),
      job("bob", room(1), { user: "bob", rootSubmittedAt: 3 }),
      job("urgent", room(1), { band: "PRODUCTION", user: "bob", rootSubmittedAt: 4 }),
    ];
    const first = (cpu: number): string[] => starts(decide([worker("w", room(cpu))], waiting)).map((start) => start.split(".")[0] ?? "");
    expect([1, 2, 3, 4, 5].map((cpu) => first(cpu).at(-1))).toEqual(["urgent", "ann-child", "bob", "ann-old", "batch"]);
  });

  test("shares of users with endless work become equal", () => {
    const waiting = ["ann", "bob", "eve"].map((user, index) => job(user, room(1, 0), { user, tasks: 50, rootSubmittedAt: index }));
    const counts = new Map<string, number>();
    for (const start of starts(decide([worker("w", room(30))], waiting, { placed: [attempt("old", "w", room(6), { user: "ann", band: "INTERACTIVE" })] }))) {
      const user = start.split(".")[0] ?? "";
      counts.set(user, (counts.get(user) ?? 0) + 1);
    }
    expect(Object.fromEntries(counts)).toEqual({ ann: 4, bob: 10, eve: 10 });
  });

  test("beyond the budget INTERACTIVE counts as BATCH, is stamped so, and says so", () => {
    const waiting = [job("ann", room(1), { user: "ann", tasks: 4 }), job("bob", room(1), { user: "bob", tasks: 4 })];
    const decision = decide([worker("w", room(6))], waiting, { budgets: { ann: 10 } });
    const bands = decision.assign.map(({ jobUid, band, places }) => [jobUid, band, places.length]);
    expect(bands).toEqual([["ann", "INTERACTIVE", 2], ["bob", "INTERACTIVE", 4]]);
    expect(decision.reasons.get("ann")).toMatchObject({ overBudget: { spend: 10, budget: 10 }, message: expect.stringContaining("counts as BATCH: its user has spent 10 of a budget of 10") as string });
    expect(decide([worker("w", room(9))], waiting, { budgets: { ann: 10 } }).assign.map(({ jobUid, band }) => `${jobUid} ${band}`)).toEqual(["ann INTERACTIVE", "bob INTERACTIVE", "ann BATCH"]);
  });
});

describe("gangs", () => {
  const rack = (name: string, on: string, capacity = room(4), more: Partial<SchedulingWorker> = {}): SchedulingWorker => worker(name, capacity, { attributes: { rack: on }, ...more });

  test("wait whole, and start whole in the group with room, task i on the i-th worker", () => {
    const workers = [rack("w10", "b"), rack("w2", "b"), rack("w1", "a"), rack("w3", "b")];
    const gang = job("g", room(3), { tasks: 3, gang: { groupBy: "rack" } });
    expect(starts(decide(workers, [gang]))).toEqual(["g.0@w2", "g.1@w3", "g.2@w10"]);
    const busy = decide(workers, [gang], { placed: [attempt("x", "w3", room(2), { band: "INTERACTIVE" })] });
    expect(starts(busy)).toEqual([]);
    expect(busy.reasons.get("g")).toMatchObject({ dimension: "gang", message: expect.stringContaining("room for all 3 tasks at once with one rack: there is room for 2 (rack b)") as string, waiting: 3 });
  });

  test("a group with a tainted member is left out whole", () => {
    const workers = [rack("a1", "a"), rack("a2", "a"), rack("a3", "a", room(4), { taints: ["flaky"] }), rack("b1", "b"), rack("b2", "b")];
    expect(starts(decide(workers, [job("g", room(1), { tasks: 2, gang: { groupBy: "rack" } })]))).toEqual(["g.0@b1", "g.1@b2"]);
  });

  test("two cannot share a slice of TPUs, even one with chips to spare", () => {
    const slice = ["a", "b"].map((on) => rack(`t-${on}`, on, room(8, 0, { kind: "tpu", variant: "v5e", count: 8 })));
    const gang = (uid: string): WaitingJob => job(uid, room(1, 0, { kind: "tpu", count: 2 }), { tasks: 2, gang: { groupBy: "rack" } });
    const decision = decide(slice, [gang("g1"), gang("g2"), gang("g3")]);
    expect(starts(decision)).toEqual(["g1.0@t-a", "g1.1@t-a", "g2.0@t-b", "g2.1@t-b"]);
    expect(decision.reasons.get("g3")?.dimension).toBe("gang");
  });

  test("neighbours share a worker where there are fewer workers than tasks; without groupBy any workers do", () => {
    expect(starts(decide([rack("a", "x"), rack("b", "x")], [job("g", room(1), { tasks: 5, gang: { groupBy: "rack" } })]))).toEqual(["g.0@a", "g.1@a", "g.2@a", "g.3@b", "g.4@b"]);
    expect(starts(decide([worker("a", room(2)), worker("b", room(3))], [job("g", room(1), { tasks: 4, gang: {} })]))).toEqual(["g.0@a", "g.1@a", "g.2@b", "g.3@b"]);
  });

  test("one that waits does not hold up those behind it", () => {
    expect(starts(decide([worker("a", room(2))], [job("g", room(1), { tasks: 3, gang: {} }), job("s", room(1))]))).toEqual(["s.0@a"]);
  });
});

describe("preemption", () => {
  const full = [attempt("old", "w", room(2), { assignedAt: 1 }), attempt("new", "w", room(2), { assignedAt: 2 })];

  test("a higher band takes the place of what was assigned last; the place is kept until it is free", () => {
    const workers = [worker("w", room(4))];
    const waiting = [job("j", room(2))];
    const first = decide(workers, waiting, { placed: full });
    expect(first).toMatchObject({ assign: [], preempt: [{ attemptUid: "new", by: { jobUid: "j", jobId: "/j" } }], reservations: [{ jobUid: "j", band: "INTERACTIVE", places: [{ taskIndex: 0, worker: "w" }] }] });
    expect(first.reasons.get("j")?.dimension).toBe("preemption");
    const stopping = [full[0] as PlacedAttempt, { ...(full[1] as PlacedAttempt), stopping: true }];
    const rival = job("rival", room(2), { band: "PRODUCTION" });
    const second = decide(workers, [...waiting, rival], { placed: stopping, reservations: first.reservations });
    expect(second).toMatchObject({ assign: [], preempt: [{ attemptUid: "old", by: { jobUid: "rival" } }] });
    const third = decide(workers, [...waiting, rival], { placed: [], reservations: second.reservations });
    expect(starts(third).sort()).toEqual(["j.0@w", "rival.0@w"]);
  });

  test("nobody goes where that makes no room, within a band, for a device of another kind, or for the same user's own share", () => {
    const workers = [worker("w", room(4))];
    expect(decide(workers, [job("j", room(5))], { placed: full }).preempt).toEqual([]);
    expect(decide(workers, [job("j", room(2), { band: "BATCH" })], { placed: full }).preempt).toEqual([]);
    const gpu = { kind: "gpu" as const, count: 1 };
    expect(decide([worker("w", room(4, 0, gpu))], [job("j", room(2))], { placed: [attempt("x", "w", room(4, 0, gpu))] }).preempt).toEqual([]);
    const own = { user: "ann", declaredBand: "INTERACTIVE" as const };
    expect(decide(workers, [job("j", room(2))], { placed: full.map((each) => ({ ...each, ...own })) }).preempt).toEqual([]);
    expect(decide(workers, [job("j", room(2))], { placed: full.map((each) => ({ ...each, user: "ann" })) }).preempt).toHaveLength(1);
  });

  test("no more go than must; nobody goes when room comes by itself", () => {
    const placed = [attempt("a", "w", room(1), { assignedAt: 3 }), attempt("b", "w", room(3), { assignedAt: 2 })];
    expect(decide([worker("w", room(4))], [job("j", room(3))], { placed }).preempt).toMatchObject([{ attemptUid: "b" }]);
    const stopping = [attempt("a", "w", room(1)), attempt("b", "w", room(3), { stopping: true })];
    expect(decide([worker("w", room(4))], [job("j", room(3))], { placed: stopping })).toMatchObject({ preempt: [], reservations: [{ jobUid: "j" }] });
  });

  test("a gang takes the place of a whole gang that is not smaller, never of single tasks or of a part", () => {
    const workers = ["a", "b", "c"].map((name) => worker(name, room(2)));
    const gang = (uid: string, size: number): PlacedAttempt[] => ["a", "b", "c"].slice(0, size).map((on, taskIndex) => attempt(`${uid}.${String(taskIndex)}`, on, room(2), { jobUid: uid, taskIndex, gang: {} }));
    const wants = job("g", room(2), { tasks: 2, gang: {} });
    expect(decide(workers, [wants], { placed: gang("victim", 3) }).preempt.map(({ attemptUid }) => attemptUid)).toEqual(["victim.0", "victim.1", "victim.2"]);
    expect(decide(workers, [job("g", room(2), { tasks: 3, gang: {} })], { placed: gang("small", 2) }).preempt).toEqual([]);
    expect(decide(workers, [wants], { placed: gang("s", 3).map(({ gang: _, ...each }) => each) }).preempt).toEqual([]);
    expect(decide(workers, [job("s", room(1))], { placed: gang("victim", 3) }).preempt).toEqual([]);
  });

  test("a promise ends with the worker", () => {
    const reservations = [{ jobUid: "j", band: "INTERACTIVE" as const, places: [{ taskIndex: 0, worker: "gone" }] }];
    expect(starts(decide([worker("w", room(2))], [job("j", room(2))], { reservations }))).toEqual(["j.0@w"]);
  });
});

// Small clusters with everything in them, looked at by brute force.
const devices = fc.constantFrom(undefined, undefined, { kind: "gpu" as const, variant: "h100", count: 2 }, { kind: "gpu" as const, variant: "a100", count: 1 }, { kind: "tpu" as const, count: 2 });
const resourcesOf = fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 3 }), devices).map(([cpu, memory, device]) => room(cpu / 2, memory, device));
const workersOf = fc
  .array(fc.record({ capacity: fc.tuple(fc.nat({ max: 8 }), fc.nat({ max: 6 }), devices), zone: fc.constantFrom("x", "y", undefined), speed: fc.nat({ max: 3 }), taint: fc.boolean(), away: fc.boolean() }), { minLength: 1, maxLength: 5 })
  .map((all) => all.map(({ capacity: [cpu, memory, device], zone, speed, taint, away }, index) => worker(`w${String(index)}`, room(cpu / 2, memory, device), { attributes: { speed, ...(zone === undefined ? {} : { zone }) }, taints: taint && index > 2 ? ["bad"] : [], accepting: !(away && index > 3) })));
const constraintsOf = fc.subarray<Constraint>([{ attribute: "zone", op: "EQ", value: "X" }, { attribute: "zone", op: "NE", value: "x" }, { attribute: "speed", op: "GE", value: 1 }, { attribute: "zone", op: "EXISTS", soft: true }, { attribute: "speed", op: "IN", values: [1, 2] }], { maxLength: 2 });
const bandOf = fc.constantFrom<Band>("PRODUCTION", "INTERACTIVE", "BATCH");
const waitingOf = fc
  .array(fc.record({ user: fc.constantFrom("ann", "bob"), band: bandOf, resources: resourcesOf, constraints: constraintsOf, tasks: fc.integer({ min: 1, max: 3 }), gang: fc.constantFrom(undefined, undefined, {}, { groupBy: "zone" }), tolerates: fc.boolean() }), { maxLength: 8 })
  .map((all) => all.map(({ tolerates, gang, ...each }, index) => job(`j${String(index)}`, each.resources, { ...each, ...(gang === undefined ? {} : { gang }), tolerations: tolerates ? ["bad"] : [], rootSubmittedAt: index })));
const placedOf = fc.array(fc.record({ on: fc.nat(), user: fc.constantFrom("ann", "bob"), band: bandOf, cpu: fc.nat({ max: 4 }), stopping: fc.boolean(), gang: fc.nat({ max: 4 }) }), { maxLength: 8 });
const budgetsOf = fc.record({ ann: fc.nat({ max: 20 }), bob: fc.nat({ max: 20 }) });

/** Attempts as far as the workers hold them. */
function placedOn(workers: readonly SchedulingWorker[], all: readonly { on: number; user: string; band: Band; cpu: number; stopping: boolean; gang: number }[]): PlacedAttempt[] {
  const free = new Map(workers.map(({ name, capacity }) => [name, capacity.cpu]));
  return all.flatMap(({ on, user, band, cpu, stopping, gang }, index) => {
    const name = workers[on % workers.length]?.name ?? "";
    const left = (free.get(name) ?? 0) - cpu / 2;
    if (left < 0) return [];
    free.set(name, left);
    return [attempt(`p${String(index)}`, name, room(cpu / 2), { user, band, stopping, assignedAt: index, ...(gang > 2 ? { jobUid: `gang${String(gang)}${band}${user}${String(stopping)}`, gang: {} } : {}) })];
  });
}

function fulfils(value: AttributeValue | undefined, constraint: Constraint): boolean {
  const same = (other: AttributeValue): boolean => (typeof other === "string" && typeof value === "string" ? other.toLowerCase() === value.toLowerCase() : other === value);
  if (constraint.op === "EQ") return same(constraint.value);
  if (constraint.op === "NE") return !same(constraint.value);
  if (constraint.op === "IN") return constraint.values.some(same);
  if (constraint.op === "EXISTS") return value !== undefined;
  return typeof value === "number" && constraint.op === "GE" && value >= constraint.value;
}

/** Whether the worker may run the job's tasks, and would be large enough. */
function possible({ resources, constraints, tolerations }: WaitingJob, { capacity, attributes, taints }: SchedulingWorker): boolean {
  const { device } = resources;
  const deviceFits = device === undefined || (capacity.device?.kind === device.kind && (device.variant === undefined || device.variant === capacity.device.variant) && device.count <= capacity.device.count);
  return deviceFits && resources.cpu <= capacity.cpu && resources.memoryBytes <= capacity.memoryBytes && taints.every((taint) => tolerations.includes(taint)) && constraints.every((constraint) => constraint.soft === true || fulfils(attributes[constraint.attribute], constraint));
}

type Left = Map<string, { cpu: number; memoryBytes: number; devices: number }>;

function leftOn(workers: readonly SchedulingWorker[], taken: readonly { readonly worker: string; readonly resources: Resources }[]): Left {
  const left: Left = new Map(workers.map(({ name, capacity }) => [name, { cpu: capacity.cpu, memoryBytes: capacity.memoryBytes, devices: capacity.device?.count ?? 0 }]));
  for (const { worker: on, resources } of taken) {
    const there = left.get(on);
    if (there === undefined) continue;
    there.cpu -= resources.cpu;
    there.memoryBytes -= resources.memoryBytes;
    there.devices -= resources.device?.count ?? 0;
  }
  return left;
}

function hasRoom(left: Left, on: string, { cpu, memoryBytes, device }: Resources): boolean {
  const there = left.get(on);
  return there !== undefined && (cpu === 0 || cpu <= there.cpu) && (memoryBytes === 0 || memoryBytes <= there.memoryBytes) && (device === undefined || device.count <= there.devices);
}

describe("laws", () => {
  test("nothing is given twice or to the wrong worker; gangs are whole; who waits finds no room and is told why; who goes makes room for somebody higher", () => {
    fc.assert(
      fc.property(workersOf, waitingOf, placedOf, budgetsOf, (workers, waiting, some, budgets) => {
        const placed = placedOn(workers, some);
        const snapshot = { workers, waiting, placed, budgets, reservations: [] };
        const decision = schedule(snapshot);
        expect(schedule(structuredClone(snapshot))).toEqual(decision);
        const jobs = new Map(waiting.map((each) => [each.jobUid, each]));
        const given = [...decision.assign, ...decision.reservations].flatMap(({ jobUid, band, places }) => places.map((place) => ({ ...place, jobUid, band, job: jobs.get(jobUid) as WaitingJob, resources: (jobs.get(jobUid) as WaitingJob).resources })));
        expect(new Set(given.map(({ jobUid, taskIndex }) => `${jobUid} ${String(taskIndex)}`)).size).toBe(given.length);
        for (const { job: each, worker: on } of given) {
          const target = workers.find(({ name }) => name === on) as SchedulingWorker;
          expect(possible(each, target) && target.accepting !== false).toBe(true);
        }
        // What starts fits beside all that is there; what is promised fits once those that go have gone.
        const assigned = given.slice(0, decision.assign.reduce((sum, { places }) => sum + places.length, 0));
        const evicted = new Set(decision.preempt.map(({ attemptUid }) => attemptUid));
        for (const taken of [[...placed, ...assigned], [...placed.filter(({ stopping, attemptUid }) => !stopping && !evicted.has(attemptUid)), ...given]]) {
          for (const there of leftOn(workers, taken).values()) expect(Math.min(there.cpu, there.memoryBytes, there.devices)).toBeGreaterThanOrEqual(0);
        }
        for (const each of waiting) {
          const mine = given.filter(({ jobUid }) => jobUid === each.jobUid);
          const startsNow = decision.assign.filter(({ jobUid }) => jobUid === each.jobUid).reduce((sum, { places }) => sum + places.length, 0);
          if (each.gang !== undefined) {
            expect([0, each.taskIndexes.length]).toContain(mine.length);
            expect([0, each.taskIndexes.length]).toContain(startsNow);
            const zones = new Set(mine.map(({ worker: on }) => workers.find(({ name }) => name === on)?.attributes["zone"]));
            if (each.gang.groupBy !== undefined && mine.length > 0) expect([...zones].filter((zone) => zone !== undefined)).toHaveLength(1);
          }
          const reason = decision.reasons.get(each.jobUid);
          const rest = each.taskIndexes.length - startsNow;
          expect(reason?.waiting ?? 0).toBe(rest);
          if (reason === undefined) continue;
          const left = leftOn(workers, [...placed, ...given]);
          const could = workers.filter((target) => possible(each, target));
          expect(reason).toMatchObject({ workers: workers.length, possible: could.length });
          if (each.gang === undefined && mine.length < each.taskIndexes.length) {
            // It would not fit in what is left, and the dimension that is named is short on every worker in question.
            const open = could.filter(({ accepting }) => accepting !== false);
            expect(open.some(({ name }) => hasRoom(left, name, each.resources))).toBe(false);
            if (reason.dimension === "cpu") expect(open.every(({ name }) => each.resources.cpu > (left.get(name)?.cpu ?? 0))).toBe(true);
            if (reason.dimension === "memoryBytes") expect(open.every(({ name }) => each.resources.memoryBytes > (left.get(name)?.memoryBytes ?? 0))).toBe(true);
          }
        }
        // Evictions: strictly lower bands, whole gangs, each for a job that holds a promise.
        const rank = (band: Band): number => ["PRODUCTION", "INTERACTIVE", "BATCH"].indexOf(band);
        for (const { attemptUid, by } of decision.preempt) {
          const victim = placed.find((each) => each.attemptUid === attemptUid) as PlacedAttempt;
          const promise = decision.reservations.find(({ jobUid }) => jobUid === by.jobUid);
          expect(promise).toBeDefined();
          expect(rank(victim.band)).toBeGreaterThan(rank(promise?.band ?? "BATCH"));
          expect(victim.stopping).toBe(false);
          expect(victim.gang !== undefined).toBe(jobs.get(by.jobUid)?.gang !== undefined);
          if (victim.gang !== undefined) expect(placed.filter(({ jobUid }) => jobUid === victim.jobUid).every((each) => evicted.has(each.attemptUid))).toBe(true);
          else expect(promise?.places.some(({ worker: on }) => on === victim.worker)).toBe(true);
        }
        // Nobody's tasks that count as INTERACTIVE go beyond the budget.
        for (const user of ["ann", "bob"] as const) {
          const news = given.filter(({ job: each, band }) => each.user === user && band === "INTERACTIVE");
          const spent = placed.filter((each) => each.user === user && each.band !== "BATCH").reduce((sum, { resources }) => sum + spendOf(resources), 0);
          const more = given.filter(({ job: each, band }) => each.user === user && band !== "BATCH").reduce((sum, { resources }) => sum + spendOf(resources), 0);
          const urgent = given.filter(({ job: each, band }) => each.user === user && band === "PRODUCTION").reduce((sum, { resources }) => sum + spendOf(resources), 0);
          if (news.some(({ resources }) => spendOf(resources) > 0) && spent + urgent <= budgets[user]) expect(spent + more).toBeLessThanOrEqual(budgets[user] + 1e-6);
        }
      }),
      { numRuns: 400 },
    );
  });

  test("10,000 tasks on 500 workers get a reason or a place", () => {
    const workers = Array.from({ length: 500 }, (_, index) => worker(`w${String(index)}`, room(8, 32 * gibibyte), { attributes: { rack: `r${String(index % 50)}` } }));
    const waiting = Array.from({ length: 100 }, (_, index) => job(`j${String(index)}`, room(1 + (index % 3), gibibyte), { tasks: 100, user: `u${String(index % 7)}`, ...(index % 10 === 0 ? { gang: { groupBy: "rack" } } : {}) }));
    const decision = decide(workers, waiting);
    const placedCount = decision.assign.reduce((sum, { places }) => sum + places.length, 0);
    expect(placedCount + [...decision.reasons.values()].reduce((sum, { waiting: count }) => sum + count, 0)).toBe(10_000);
    expect(placedCount).toBeGreaterThan(1_500);
  });
});
