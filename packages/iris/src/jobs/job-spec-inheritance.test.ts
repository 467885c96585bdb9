import { describe, expect, test } from "vitest";
import type { Constraint } from "../scheduling/constraints.js";
import { inheritJobSpec } from "./job-spec-inheritance.js";
import { type JobSpec, checkJobSpec } from "./job-spec.js";

const eu: Constraint = { attribute: "region", op: "EQ", value: "eu" };
const fast: Constraint = { attribute: "speed", op: "GE", value: 2 };
const us: Constraint = { attribute: "region", op: "EQ", value: "us" };
const bundle = { digest: "sha256-00", root: "file:///work/" };

function spec(fields: Omit<JobSpec, "name" | "command"> = {}): ReturnType<typeof checkJobSpec> {
  return checkJobSpec({ name: "job", command: ["true"], ...fields });
}

describe("what a child takes from its parent", () => {
  const parent = inheritJobSpec(spec({ env: { A: "parent", B: "parent" }, band: "BATCH", constraints: [eu, fast], tolerations: ["flaky"], setup: ["module load cuda"], bundle, maxRetriesFailure: 3 }), undefined);

  test("without a parent: INTERACTIVE, and nothing else", () => {
    expect(inheritJobSpec(spec(), undefined)).toMatchObject({ band: "INTERACTIVE", constraints: [], tolerations: [], setup: [], env: {} });
    expect(inheritJobSpec(spec(), undefined).bundle).toBeUndefined();
  });

  test.each([undefined, null])("%s is the parent's", (left) => {
    const child = inheritJobSpec(spec({ constraints: left, tolerations: left, setup: left }), parent);
    expect(child).toMatchObject({ band: "BATCH", constraints: [eu, fast], tolerations: ["flaky"], setup: ["module load cuda"], bundle, env: { A: "parent", B: "parent" } });
    // How often it may fail is the child's own affair.
    expect(child.maxRetriesFailure).toBe(0);
  });

  test("an empty list is none, and no bundle is none", () => {
    expect(inheritJobSpec(spec({ constraints: [], tolerations: [], setup: [], bundle: null }), parent)).toMatchObject({ constraints: [], tolerations: [], setup: [], bundle: null });
  });

  test("its own variables win, and its own constraints take the place of those for the same attribute", () => {
    expect(inheritJobSpec(spec({ env: { B: "child" }, constraints: [us], band: "PRODUCTION" }), parent)).toMatchObject({ env: { A: "parent", B: "child" }, constraints: [fast, us], band: "PRODUCTION" });
  });
});
