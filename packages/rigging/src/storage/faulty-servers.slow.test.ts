import { afterAll, expect, test } from "vitest";
import { describeStorage } from "../../test/storage-suite.js";
import { startGcsServer } from "../gcs-server/server.js";
import { startS3Server } from "../s3-server/server.js";
import type { FaultChooser, ServerFault } from "../testing/faults.js";
import { seededRandom } from "../time/random.js";
import { createStorage } from "./create.js";

/** What goes wrong now and then, and passes. */
const faults: readonly ServerFault[] = [{ status: 429 }, { status: 503 }, { status: 500 }, "cut-before", "cut-after", { cutAt: 3 }, { cutAt: 0 }, { stallAt: 2 }, { pieceBytes: 20, delayMs: 2 }];

/** About one request of eight goes wrong, each time in the next way. */
function now(counts: Map<string, number>, seed: number): FaultChooser {
  const random = seededRandom(seed);
  let next = 0;
  return ({ method }) => {
    if (random() >= 1 / 8) return undefined;
    const fault = faults[next++ % faults.length];
    const name = `${method} ${JSON.stringify(fault)}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return fault;
  };
}

const [gcsFaults, s3Faults] = [new Map<string, number>(), new Map<string, number>()];
const gcs = await startGcsServer({ buckets: ["bucket"], fault: now(gcsFaults, 11) });
const s3 = await startS3Server({ buckets: ["bucket"], fault: now(s3Faults, 12) });
afterAll(() => Promise.all([gcs.close(), s3.close()]));
const storage = createStorage({ gcs: { endpoint: gcs.endpoint, maxRetries: 8, stallMs: 500 }, s3: { endpoint: s3.endpoint, credentials: "anonymous", maxRetries: 8, stallMs: 500 } });

describeStorage("a bucket of Google's whose server fails now and then", () => ({ storage, base: "gs://bucket/d" }), { runs: 10 });
describeStorage("a bucket of S3 whose server fails now and then", () => ({ storage, base: "s3://bucket/d" }), { renames: "refused", runs: 10 });

test("every kind of fault took place", () => {
  for (const [kind, counts] of [["gs", gcsFaults], ["s3", s3Faults]] as const) {
    console.log(`${kind}: ${String([...counts.values()].reduce((sum, count) => sum + count, 0))} faults`);
    for (const fault of faults) expect([...counts.keys()].some((name) => name.endsWith(JSON.stringify(fault))), JSON.stringify(fault)).toBe(true);
  }
});
