import { expect, test } from "vitest";
import { killMidShard, killRandomly, resumeByRunningAgain } from "../../test/kill-cases.js";

test("Kill -9 mid-shard: a worker that dies in the middle of a shard is replaced; each record is there exactly once", () => killMidShard());

test("Kill -9 mid-shard: workers and coordinators killed at random leave the same bytes", async () => {
  expect(await killRandomly(3, 1)).toBeGreaterThanOrEqual(3);
});

test("Resume: killed at random points and run again with skipExisting until done, the same tree; a changed plan is detected", () => resumeByRunningAgain(2, 2));
