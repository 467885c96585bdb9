import { test } from "vitest";
import { clustersUnderFire } from "../../test/gangs-under-fire.js";

test("Gang atomicity under fire: failures, lost workers and preemptions by chance never leave a part of a gang running past one tick, nor two gangs on one slot, 4 clusters", () => {
  clustersUnderFire(1, 4);
});
