import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Resources } from "../jobs/job-spec.js";
import { type Machine, type WaitingTask, add, noResources, schedule, shortageOf, subtract } from "./schedule.js";

const gibibyte = 2 ** 30;
const room = (cpu: number, memoryBytes = 0, gpu = 0): Resources => ({ cpu, memoryBytes, diskBytes: 0, ...(gpu === 0 ? {} : { device: { kind: "gpu" as const, count: gpu } }) });
const machine = (name: string, capacity: Resources, free = capacity): Machine => ({ name, capacity, free });
const waiting = (key: string, resources: Resources, heldByAncestors = noResources): WaitingTask => ({ key, resources, heldByAncestors });

describe("schedule", () => {
  test("first submitted, first placed; what does not fit lets those behind it pass", () => {
    const placements = schedule([machine("m", room(4))], [waiting("a", room(2)), waiting("b", room(3)), waiting("c", room(2)), waiting("d", room(1))]);
    expect(placements).toEqual([
      { key: "a", kind: "start", machine: "m" },
      { key: "b", kind: "wait", reason: "waits for cpu: asks 3, free 2 of 4" },
      { key: "c", kind: "start", machine: "m" },
      { key: "d", kind: "wait", reason: "waits for cpu: asks 1, free 0 of 4" },
    ]);
  });

  test("a reason names every dimension that lacks room, or that no machine has them together", () => {
    const machines = [machine("a", room(4, 8 * gibibyte, 1), room(0, 8 * gibibyte)), machine("b", room(4, 8 * gibibyte, 1), room(4, gibibyte))];
    const [dimensions, together] = schedule(machines, [waiting("x", room(4, 8 * gibibyte, 1)), waiting("y", room(4, 8 * gibibyte))]);
    expect(dimensions).toMatchObject({ kind: "wait", reason: "waits for gpu: asks 1, free 0 of 1" });
    expect(together).toMatchObject({ kind: "wait", reason: "waits for a machine with room for cpu 4, memoryBytes 8GiB at once" });
  });

  test("what no machine could ever hold is impossible, and says in which dimension", () => {
    const machines = [machine("a", room(4, gibibyte)), machine("b", room(1, 64 * gibibyte))];
    expect(shortageOf(machines, room(5))).toEqual({ dimension: "cpu", asked: "5", available: "4" });
    expect(shortageOf(machines, room(1, 65 * gibibyte))).toEqual({ dimension: "memoryBytes", asked: "65GiB", available: "64GiB" });
    expect(shortageOf(machines, room(0, 0, 1))).toEqual({ dimension: "gpu", asked: "1", available: "0" });
    expect(shortageOf(machines, room(4, 2 * gibibyte))).toMatchObject({ dimension: "combination", asked: "cpu 4, memoryBytes 2GiB" });
    expect(shortageOf(machines, room(4, gibibyte))).toBeUndefined();
    expect(shortageOf([], room(0))).toMatchObject({ dimension: "combination" });
  });

  test("a child that would need what its ancestors hold until it has ended is impossible", () => {
    const [tooMuch, fits] = schedule([machine("m", room(4), room(1))], [waiting("a", room(2), room(3)), waiting("b", room(1), room(3))]);
    expect(tooMuch).toMatchObject({ kind: "impossible", shortage: { dimension: "cpu", asked: "2", available: "1" } });
    expect(fits).toMatchObject({ kind: "start" });
  });

  test("fractions of processors add up exactly", () => {
    const tenths = Array.from({ length: 11 }, (_, index) => waiting(String(index), room(0.1)));
    expect(schedule([machine("m", room(1))], tenths).map(({ kind }) => kind)).toEqual([...Array<string>(10).fill("start"), "wait"]);
    expect(subtract(add(room(0.1), room(0.2)), room(0.3))).toEqual(noResources);
  });
});

describe("laws", () => {
  const resources = fc.tuple(fc.integer({ min: 0, max: 8000 }), fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 2 })).map(([millis, memoryBytes, gpu]) => room(millis / 1000, memoryBytes, gpu));
  const cluster = fc.array(resources, { maxLength: 4 }).map((all) => all.map((capacity, index) => machine(`m${index}`, capacity)));
  const tasks = fc.array(resources, { maxLength: 30 }).map((all) => all.map((asked, index) => waiting(`t${index}`, asked)));

  test("no machine is given more than it has free; every task gets one placement; whoever waits would not fit in what is left", () => {
    fc.assert(
      fc.property(cluster, tasks, (machines, queue) => {
        const placements = schedule(machines, queue);
        expect(placements.map(({ key }) => key)).toEqual(queue.map(({ key }) => key));
        const left = new Map(machines.map(({ name, free }) => [name, free]));
        for (const [index, placement] of placements.entries()) {
          const asked = queue[index]?.resources ?? noResources;
          if (placement.kind === "start") {
            const rest = subtract(left.get(placement.machine) ?? noResources, asked);
            expect(Math.min(rest.cpu, rest.memoryBytes, rest.device?.count ?? 0)).toBeGreaterThanOrEqual(0);
            left.set(placement.machine, rest);
          } else {
            const possible = [...left.values()].some((rest) => asked.cpu <= rest.cpu && asked.memoryBytes <= rest.memoryBytes && (asked.device?.count ?? 0) <= (rest.device?.count ?? 0));
            expect(possible).toBe(false);
            expect(placement.kind === "impossible").toBe(shortageOf(machines, asked) !== undefined);
          }
        }
      }),
    );
  });

  test("a later task changes nothing for those before it", () => {
    fc.assert(
      fc.property(cluster, tasks, resources, (machines, queue, last) => {
        expect(schedule(machines, [...queue, waiting("last", last)]).slice(0, -1)).toEqual(schedule(machines, queue));
      }),
    );
  });
});
