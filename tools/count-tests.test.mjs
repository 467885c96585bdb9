import { expect, it } from "vitest";
import { countTests, failedTasks, failureTails } from "./count-tests.mjs";

it("adds up the totals of all packages", () => {
  const log = ["@marin/iris:test:       Tests  4 passed (4)", "@marin/levanter:test: \u001b[2m      Tests \u001b[22m \u001b[1m\u001b[32m18 passed\u001b[39m\u001b[22m\u001b[90m (18)\u001b[39m"].join("\n");
  expect(countTests([log], 0)).toEqual({ passed: 22, failed: 0 });
});

it("counts failed tests once, and tasks that failed otherwise", () => {
  const log = ["@marin/iris:test:       Tests  2 failed | 4 passed (6)", " Tasks:    3 successful, 5 total", "Failed:    //#house:check, @marin/iris#test"].join("\n");
  expect(countTests([log], 1)).toEqual({ passed: 4, failed: 3 });
});

it("counts the last run of a task that ran twice", () => {
  const first = ["@marin/iris:test:       Tests  2 failed | 4 passed (6)", "@marin/fray:test:       Tests  3 passed (3)", "Failed:    @marin/iris#test"].join("\n");
  expect(countTests([first, "@marin/iris:test:       Tests  6 passed (6)"], 0)).toEqual({ passed: 9, failed: 0 });
  expect(countTests([first, "@marin/iris:test:       Tests  1 failed | 5 passed (6)\nFailed:    @marin/iris#test"], 1)).toEqual({ passed: 8, failed: 1 });
  expect(failedTasks(first)).toEqual(["@marin/iris#test"]);
});

it("never calls a failed run clean", () => {
  expect(countTests(["npm error network"], 1)).toEqual({ passed: 0, failed: 1 });
});

it("shows the end of what a failed task printed, and nothing of the others", () => {
  const log = ["@marin/iris:test:  FAIL  src/a.test.ts > counts", "@marin/fray:test: fine", "@marin/iris:test:       Tests  1 failed (1)", "Failed:    @marin/iris#test"].join("\n");
  expect(failureTails(log)).toEqual(["--- the end of @marin/iris#test\n FAIL  src/a.test.ts > counts\n      Tests  1 failed (1)"]);
});
