import { describe, expect, it } from "vitest";
import { decideSave, requirePolicies } from "./save-policy.js";

const POLICIES = [{ every: 2, until: 10 }, { every: 5, until: 20 }, { every: 10 }];
const SITUATION = { savedStep: 0, elapsedSeconds: 0, requested: false, forced: false };

describe("policy table: permanent checkpoints", () => {
  it("save the steps that the first policy reaching so far divides, and no others", () => {
    let savedStep = 0;
    const saved: number[] = [];
    for (let step = 1; step < 50; step++) {
      if (decideSave(POLICIES, 0, { ...SITUATION, step, savedStep, elapsedSeconds: 1e9 }) !== "permanent") continue;
      saved.push(step);
      savedStep = step;
    }
    expect(saved).toEqual([2, 4, 6, 8, 10, 15, 20, 30, 40]);
  });

  it("hold up to and with the last step that a policy speaks for", () => {
    const policies = [{ every: 3, until: 6 }, { every: 4, until: 8 }];
    expect(Array.from({ length: 12 }, (_, i) => i + 1).filter((step) => decideSave(policies, 0, { ...SITUATION, step }) === "permanent")).toEqual([3, 6, 8]);
  });

  it("yield to nothing but the start, and to a checkpoint of the same step", () => {
    expect(decideSave(POLICIES, 1, { step: 0, savedStep: 0, elapsedSeconds: 1e9, requested: true, forced: true })).toBeUndefined();
    expect(decideSave(POLICIES, 1, { step: 4, savedStep: 4, elapsedSeconds: 1e9, requested: true, forced: false })).toBeUndefined();
    expect(decideSave(POLICIES, 1, { ...SITUATION, step: 4, elapsedSeconds: 1e9, requested: true })).toBe("permanent");
    expect(decideSave([], 1, { ...SITUATION, step: 4, savedStep: 4, forced: true })).toBe("permanent");
  });

  it("leave the steps between to time and to requests", () => {
    expect(decideSave(POLICIES, 900, { ...SITUATION, step: 3, elapsedSeconds: 899.9 })).toBeUndefined();
    expect(decideSave(POLICIES, 900, { ...SITUATION, step: 3, elapsedSeconds: 900 })).toBe("temporary");
    expect(decideSave(POLICIES, 0, { ...SITUATION, step: 3, elapsedSeconds: 1e9 })).toBeUndefined();
    expect(decideSave([{ every: 2, until: 10 }], 0, { ...SITUATION, step: 12, elapsedSeconds: 1e9 })).toBeUndefined();
    expect(decideSave(POLICIES, 900, { ...SITUATION, step: 3, requested: true })).toBe("temporary");
  });

  it.each([
    [[{ every: 0 }], /policy 1 .*every must be a whole number of steps, at least 1, not 0/],
    [[{ every: 2 }, { every: 4 }], /policy 1 .*only the last one may lack until/],
    [[{ every: 2, until: 10 }, { every: 4, until: 10 }], /policy 2 .*until must be a step after 10, not 10/],
  ])("are refused where they don't follow each other: %j", (policies, message) => {
    expect(() => {
      requirePolicies(policies);
    }).toThrow(message);
  });
});
