import { expect, test } from "vitest";
import { fuzzWorker } from "../../test/fuzz-worker.js";

test("The worker protocol fuzzed: ten thousand things said to a worker", { timeout: 300_000 }, async () => {
  const { started, ended, connections } = await fuzzWorker(10_000, 2);
  for (const count of [started, ended, connections]) expect(count).toBeGreaterThan(10);
});
