import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { workerDaemon } from "../src/worker/daemon.js";
import type { WorkerLink } from "../src/worker/link.js";
import { gone } from "./processes.js";
import { noApi } from "./worker-harness.js";

/** Gives each test of the file a directory of its own for a worker's daemon, and ends whatever the test has left there. */
export function daemonOfEachTest(): { readonly directory: string; connect(orphanMs?: number): Promise<WorkerLink> } {
  const own = {
    directory: "",
    connect: (orphanMs = 600_000) => workerDaemon({ name: "d", directory: own.directory, capacity: { cpu: 4, memoryBytes: 2 ** 32, diskBytes: 0 }, orphanMs }, () => noApi),
  };
  beforeEach(async () => {
    own.directory = await mkdtemp(join(tmpdir(), "iris-worker-"));
  });
  afterEach(async () => {
    const link = await own.connect().catch(() => undefined);
    await link?.shutdown(1_000);
    await gone([link?.info.pid ?? 0], 60_000);
    await rm(own.directory, { recursive: true, force: true });
  }, 120_000);
  return own;
}
