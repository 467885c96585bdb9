import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { FAULT_STEPS, FaultInjection } from "./fault-injection.js";

let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-faults-"));
});
afterAll(() => rm(root, { recursive: true }));

/** The steps of ten that fail. */
async function failures(faults: FaultInjection): Promise<number[]> {
  const failed: number[] = [];
  for (let step = 1; step <= 10; step++) {
    await faults.beforeStep(step).catch((error: unknown) => {
      expect(error).toMatchObject({ code: "LEVANTER_FAULT_INJECTED", data: { step } });
      failed.push(step);
    });
  }
  return failed;
}

it.each([
  ["7", [7]],
  ["3,7", [3, 7]],
  [" 3, 7 ", [3, 7]],
  ["[3, 7]", [3, 7]],
  ["", []],
  [undefined, []],
])("%j fails each of its steps once, also for a process that starts anew", async (value, steps) => {
  const run = join(root, String(value));
  const environment = { [FAULT_STEPS]: value };
  expect(await failures(new FaultInjection(environment, run))).toEqual(steps);
  expect(await failures(new FaultInjection(environment, run))).toEqual([]);
});

it("makes the listed steps not finite once each, and leaves nothing in a run that is done", async () => {
  const run = join(root, "nan");
  const faults = new FaultInjection({ MARIN_FAULT_INJECTION_NAN_STEPS: "2" }, run);
  expect([await faults.makesNotFinite(1), await faults.makesNotFinite(2), await faults.makesNotFinite(2)]).toEqual([false, true, false]);
  expect(await readdir(run)).toEqual([".faults"]);
  await faults.finish();
  expect(await readdir(run)).toEqual([]);
});

it.each(["soon", "0", "-1", "1.5", "3;7", "[3", "3,,7"])("refuses %j", (value) => {
  expect(() => new FaultInjection({ [FAULT_STEPS]: value }, root)).toThrow(expect.objectContaining({ code: "LEVANTER_CONFIG", message: expect.stringContaining(FAULT_STEPS) as string }) as Error);
});
