import { expect, test } from "vitest";
import { killRandomly, resumeByRunningAgain } from "../../test/kill-cases.js";

test("Kill -9 mid-shard: 20 kills of workers and coordinators at random leave the same bytes", async () => {
  expect(await killRandomly(20, 3)).toBeGreaterThanOrEqual(20);
});

test("Resume: 20 kills of the coordinator, run again with skipExisting until done, the same tree", () => resumeByRunningAgain(20, 4));
