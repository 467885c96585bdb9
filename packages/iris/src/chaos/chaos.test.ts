import { afterEach, expect, test } from "vitest";
import { chaos, chaosAt, chaosEnvironment, chaosNow, chaosVariable, inheritChaos } from "./chaos.js";

afterEach(() => {
  chaos.reset();
  Reflect.deleteProperty(process.env, chaosVariable);
});

async function hits(passes: number): Promise<boolean[]> {
  const seen: boolean[] = [];
  for (let pass = 0; pass < passes; pass += 1) seen.push(await chaosAt("worker.report").then(() => false, () => true));
  return seen;
}

test("nothing happens unasked; asked for, a place fails at its rate, in a sequence that its seed decides, up to its count", async () => {
  expect(await hits(10)).not.toContain(true);
  chaos.inject("worker.report", { rate: 0.3, seed: 7 });
  const first = await hits(1_000);
  const share = first.filter(Boolean).length;
  expect(share).toBeGreaterThan(250);
  expect(share).toBeLessThan(350);
  expect(chaos.count("worker.report")).toBe(share);
  chaos.inject("worker.report", { rate: 0.3, seed: 7 });
  expect(await hits(1_000)).toEqual(first);
  chaos.inject("worker.report", { rate: 0.3, seed: 8 });
  expect(await hits(1_000)).not.toEqual(first);
  chaos.inject("worker.report", { maxCount: 2 });
  expect(await hits(4)).toEqual([true, true, false, false]);
  chaos.reset();
  expect(await hits(10)).not.toContain(true);
});

test("a failure has a code and names its place; a delay alone fails nothing; other places are left alone", async () => {
  chaos.inject("log.append");
  expect(() => chaosNow("log.append")).toThrow(expect.objectContaining({ code: "IRIS_CHAOS", message: expect.stringContaining("log.append") as string, data: { point: "log.append" } }));
  await chaosAt("process.start");
  chaos.inject("worker.report", { delayMs: 1 });
  await chaosAt("worker.report");
  expect(chaos.count("worker.report")).toBe(1);
});

test("what was asked for is handed on to a worker's process", async () => {
  expect(chaosEnvironment()).toEqual({});
  chaos.inject("worker.report", { maxCount: 1 });
  const environment = chaosEnvironment();
  chaos.reset();
  Object.assign(process.env, environment);
  inheritChaos();
  expect(await hits(2)).toEqual([true, false]);
});

test.each([
  ["a place that does not exist", () => chaos.inject("nowhere" as "log.append")],
  ["a rate that is none", () => chaos.inject("log.append", { rate: 2 })],
  ["a delay that is none", () => chaos.inject("log.append", { delayMs: -1 })],
])("%s is refused", (_what, inject) => {
  expect(inject).toThrow(expect.objectContaining({ code: "IRIS_BAD_CHAOS" }));
});
