import { expect, test } from "vitest";
import { contend } from "../../test/lease-contention.js";
import { leaseKinds, leasePlace } from "../../test/lease-servers.js";

test.each(leaseKinds)("Lease/CAS correctness: contending processes with pauses beyond the lease, on %s: one winner per term, fencing rejects the late writer, guarded work aborted", async (kind) => {
  await using place = await leasePlace(kind);
  const counted = await contend({ ...place, processes: 6, terms: 10, ttlMs: 600, pauseEvery: 3 });
  console.log(`${kind}: ${JSON.stringify(counted)}`);
  expect(counted["terms"]).toBeGreaterThanOrEqual(10);
});
