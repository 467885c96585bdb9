import { afterAll, beforeAll, describe, test } from "vitest";
import { noApi } from "../../test/worker-harness.js";
import { Worker } from "../worker/worker.js";
import { clusterConformance } from "./conformance.js";
import { WorkerBackend } from "./worker-backend.js";

let worker: Worker;
let backend: WorkerBackend;
beforeAll(() => {
  worker = new Worker({ name: "local", capacity: { cpu: 4, memoryBytes: 2 ** 32, diskBytes: 2 ** 32 }, api: () => noApi });
  backend = new WorkerBackend(worker, 1);
});
afterAll(async () => {
  await worker.close();
  await backend[Symbol.asyncDispose]();
}, 60_000);

describe.concurrent("a worker as a cluster", { timeout: 240_000 }, () => {
  test.each(clusterConformance)("$name", ({ run }) => run(backend));
});
