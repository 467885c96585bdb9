import { expect, test } from "vitest";
import { fuzzWorker } from "../../test/fuzz-worker.js";

test("The worker protocol fuzzed: whatever is said to a worker, it refuses it with an error or does it, and goes on", { timeout: 120_000 }, async () => {
  const { refused, taken, started, ended } = await fuzzWorker(500, 1);
  expect(refused).toBeGreaterThan(100);
  expect(taken).toBeGreaterThan(100);
  expect(started).toBeGreaterThan(10);
  expect(ended).toBeGreaterThan(10);
});
