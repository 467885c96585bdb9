import { expect, test } from "vitest";
import { interleavedContexts } from "../../test/interleaved-contexts.js";

test("Context never leaks: a hundred interleaved jobs in warm processes see their own from await, timers, emitters, threads and child processes", { timeout: 300_000 }, async () => {
  expect(await interleavedContexts(100)).toEqual([]);
});
