import { expect, test } from "vitest";
import { followLogs } from "../../test/follow-logs.js";

test("Logs complete and ordered: twenty tasks of two thousand lines, some of which die and start again, followed while the controller is killed twice", { timeout: 300_000 }, async () => {
  const { seen, problems } = await followLogs(20, 2_000, 2);
  expect(problems).toEqual([]);
  expect(seen).toBe(44_000);
});
