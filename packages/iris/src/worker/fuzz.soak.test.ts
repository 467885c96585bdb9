import { expect, test } from "vitest";
import { fuzzWorker } from "../../test/fuzz-worker.js";

test("The worker protocol fuzzed: a hundred thousand things said to a worker, whose memory does not grow", { timeout: 1_800_000 }, async () => {
  await fuzzWorker(10_000, 3);
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  await fuzzWorker(90_000, 4);
  globalThis.gc?.();
  expect(process.memoryUsage().heapUsed).toBeLessThan(before + 64 * 2 ** 20);
});
