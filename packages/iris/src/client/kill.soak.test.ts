import { expect, test } from "vitest";
import { killController } from "../../test/kill-controllers.js";

test("of a hundred controllers killed at any moment none leaves a process after five seconds", async () => {
  for (let count = 0; count < 100; count += 1) expect(await killController(Math.random() * 5_000)).toBeLessThan(5_000);
});
