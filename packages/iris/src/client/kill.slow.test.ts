import { expect, test } from "vitest";
import { killController } from "../../test/kill-controllers.js";

test.each([300, 900, 1_500, 2_500, 4_000, 7_000])("a controller that is killed %i ms after its start leaves no process after five seconds", async (afterMs) => {
  expect(await killController(afterMs)).toBeLessThan(5_000);
});
