import { expect, test } from "vitest";
import { killAtRandom } from "../test/kill-at-random.js";

test("12 kills at random moments: within 5 s nobody is left", async () => {
  for (let round = 0; round < 12; round += 1) {
    const { before, left } = await killAtRandom(100 + Math.random() * 2_500, Math.random());
    expect({ round, before, left }).toEqual({ round, before, left: 0 });
  }
});
