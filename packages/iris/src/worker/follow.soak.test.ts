import { expect, test } from "vitest";
import { followLogs } from "../../test/follow-logs.js";

test("Logs complete and ordered: two hundred tasks of ten thousand lines, some of which die and start again, followed while the controller is killed ten times", { timeout: 3_600_000 }, async () => {
  const { seen, problems } = await followLogs(200, 10_000, 10);
  expect(problems).toEqual([]);
  expect(seen).toBe(2_200_000);
});
