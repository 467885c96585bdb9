import { test } from "vitest";
import { gangsUnderFire } from "../../test/gangs-under-fire.js";

test("Gang atomicity under fire: failures, lost workers and preemptions by chance never leave a part of a gang running past one tick, nor two gangs on one slot, 300 clusters", () => {
  for (let seed = 1000; seed < 1300; seed += 1) gangsUnderFire(seed);
});
