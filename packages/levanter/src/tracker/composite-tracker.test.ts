import { silentLogger } from "@marin/iris";
import { expect, it } from "vitest";
import { CompositeTracker } from "./composite-tracker.js";
import type { Tracker } from "./tracker.js";

function recorder(name: string, failing: boolean): Tracker & { readonly calls: unknown[] } {
  const calls: unknown[] = [];
  const record = (...call: unknown[]): void => {
    calls.push(call);
    if (failing) throw new Error("connection refused");
  };
  return {
    name,
    calls,
    log: (step, metrics) => { record("log", step, metrics); },
    logHyperparameters: (values) => { record("hyperparameters", values); },
    logSummary: (values) => { record("summary", values); },
    finish: () => { record("finish"); },
  };
}

it("hands everything to every tracker; one that fails is warned about and left to itself", async () => {
  const warnings: string[] = [];
  const [bad, good] = [recorder("remote", true), recorder("local", false)];
  const tracker = new CompositeTracker([bad, good], { ...silentLogger, warn: (message) => void warnings.push(message) });
  await tracker.logHyperparameters({ steps: 2 });
  await tracker.log(1, { loss: 3 });
  await tracker.log(2, { loss: 2 });
  await tracker.logSummary({ step: 2 });
  await tracker.finish();
  expect(good.calls).toEqual([["hyperparameters", { steps: 2 }], ["log", 1, { loss: 3 }], ["log", 2, { loss: 2 }], ["summary", { step: 2 }], ["finish"]]);
  expect(bad.calls).toEqual(good.calls);
  expect(warnings).toEqual([
    'the tracker "remote" could not log the options; training goes on without it',
    'the tracker "remote" failed 5 times; what it was given then is missing there',
  ]);
});
