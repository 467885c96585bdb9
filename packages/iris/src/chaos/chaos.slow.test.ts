import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { logs } from "../../test/fixtures/tasks.js";
import { gone } from "../../test/processes.js";
import { noApi } from "../../test/worker-harness.js";
import { Iris } from "../iris.js";
import { entry } from "../platform.js";
import { workerDaemon } from "../worker/daemon.js";
import { chaos } from "./chaos.js";

afterEach(() => chaos.reset());

test("with a worker whose answers, reports and disk fail at every other turn, each job ends as it should, with all of its log", { timeout: 240_000 }, async () => {
  const dir = await mkdtemp(join(tmpdir(), "iris-chaos-"));
  const capacity = { cpu: 2, memoryBytes: 2 ** 32, diskBytes: 0 };
  chaos.inject("worker.reconcile", { rate: 0.5, seed: 1 });
  chaos.inject("worker.report", { rate: 0.5, seed: 2 });
  chaos.inject("log.append", { rate: 0.5, seed: 3 });
  const client = await Iris.open({ dir, worker: { capacity } });
  try {
    const lines = 1_000;
    const job = await client.submit({ name: "logs", entry: entry<typeof logs>(new URL("../../test/fixtures/tasks.ts", import.meta.url), "logs"), args: [lines], replicas: 3, isolation: "warm" });
    const seen: string[][] = [[], [], []];
    for await (const line of job.logs({ follow: true })) if (/^(printed|logged) \d+$/.test(line.message)) seen[line.taskIndex]?.push(line.message);
    expect((await job.wait()).state).toBe("SUCCEEDED");
    const expected = Array.from({ length: lines }, (_, line) => [`printed ${String(line)}`, `logged ${String(line)}`]).flat();
    for (const found of seen) expect(found).toEqual(expected);
  } finally {
    await client.close();
    chaos.reset();
    const worker = await workerDaemon({ name: "local", directory: join(dir, "worker"), capacity }, () => noApi);
    for (let stopped = false; !stopped; ) stopped = await worker.shutdown(Number.MAX_SAFE_INTEGER).then(() => true, () => false);
    await gone([worker.info.pid], 60_000);
    await rm(dir, { recursive: true, force: true });
  }
});
