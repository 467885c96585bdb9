import { expect, test } from "vitest";
import { interleavedContexts } from "../../test/interleaved-contexts.js";

test("Context never leaks: a thousand interleaved jobs in warm processes see their own from await, timers, emitters, threads and child processes", { timeout: 3_600_000 }, async () => {
  expect(await interleavedContexts(1_000)).toEqual([]);
});
