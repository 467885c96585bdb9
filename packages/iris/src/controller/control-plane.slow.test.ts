import { setFlagsFromString } from "node:v8";
import { setImmediate as immediate } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { type SimulatedController, continueStore, settle, submission } from "../testing/simulated-controller.js";
import { SimulatedWorker } from "../testing/simulated-worker.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** A number as a word of a job's name. */
const word = (count: number): string => String(count).replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "");

const cluster = (count: number, cpu: number): SimulatedWorker[] => Array.from({ length: count }, (_, index) => new SimulatedWorker(`w${String(index)}`, { cpu, memoryBytes: 2 ** 35, diskBytes: 2 ** 35 }));

async function open(workers: readonly SimulatedWorker[], endedKept = 2_000): Promise<SimulatedController> {
  const opened = await continueStore(":memory:", { endedKept });
  for (const worker of workers) opened.controller.addWorker(worker.link());
  return opened;
}

test("Control plane stays quick: with 10,000 pending tasks and 500 workers, 50 followers miss no line and every status is answered", { timeout: 300_000 }, async () => {
  const workers = cluster(500, 8);
  const { api, controller, kill } = await open(workers);
  const running = await Promise.all(Array.from({ length: 50 }, (_, index) => api.submit(submission({ name: `run-${word(index)}`, replicas: 80 }, `run ${String(index)}`))));
  await Promise.all(Array.from({ length: 1_000 }, (_, index) => api.submit(submission({ name: `wait-${word(index)}`, replicas: 10, resources: { cpu: 8 } }, `wait ${String(index)}`))));
  while (controller.workers.placed().length < 4_000) await settle();
  await settle();
  for (const worker of workers) worker.step();
  const followed = running.map(async ({ uid }) => {
    let lines = 0;
    for await (const batch of api.logs({ job: uid, follow: true })) {
      lines += batch.lines.length;
      if (lines === 800) return lines;
    }
    return lines;
  });
  for (let round = 0; round < 10; round += 1) {
    for (const worker of workers) worker.tell({ type: "log", source: "stdout", level: "info", message: `line ${String(round)}` });
    expect((await api.status({ job: running[round]?.uid ?? "" })).tasks).toHaveLength(80);
    expect(await api.status({ job: `/wait-${word(round)}` })).toMatchObject({ state: "PENDING", pending: { dimension: "cpu" } });
    expect(await api.list({ states: ["PENDING"], limit: 100 })).toHaveLength(100);
  }
  expect(await Promise.all(followed)).toEqual(Array<number>(50).fill(800));
  kill();
});

test("Control plane stays quick: memory is flat over 20,000 finished tasks", { timeout: 300_000 }, async () => {
  const workers = cluster(20, 50);
  const { api, kill } = await open(workers, 500);
  const heap: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const jobs = await Promise.all(Array.from({ length: 100 }, (_, index) => api.submit(submission({ name: `job-${word(round * 100 + index)}`, replicas: 10 }, `${String(round)} ${String(index)}`))));
    let over = false;
    const ends = Promise.all(jobs.map(({ uid }) => api.wait({ job: uid }))).then((results) => {
      over = true;
      return results;
    });
    while (!over) {
      for (const worker of workers) worker.step();
      await immediate();
    }
    expect((await ends).every(({ state }) => state === "SUCCEEDED")).toBe(true);
    for (const worker of workers) worker.started.length = 0;
    collectGarbage();
    heap.push(process.memoryUsage().heapUsed);
  }
  // What is held of the latest jobs is there after the first 5,000 tasks.
  expect(Math.min(...heap.slice(-5)) - Math.min(...heap.slice(5, 10))).toBeLessThan(2 * 2 ** 20);
  kill();
});
