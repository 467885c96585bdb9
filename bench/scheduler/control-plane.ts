import { setImmediate as immediate, setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { SimulatedWorker, continueStore, submission } from "@marin/iris/testing";

/** How the controller fares with many tasks, workers and followers. */
export interface ControlPlaneRow {
  readonly tasks: number;
  readonly workers: number;
  readonly followers: number;
  /** Jobs of ten tasks taken in a second, each stored. */
  readonly jobsPerSecond: number;
  /** Lines that all followers together got in a second, while statuses were asked for. */
  readonly linesPerSecond: number;
  /** From the moment at which a status was to be asked for until it was there: what the controller is busy with counts. */
  readonly statusMedianMilliseconds: number;
  readonly statusP99Milliseconds: number;
  readonly finishedTasks: number;
  readonly tasksPerSecond: number;
  /** Memory in use after a fifth and after all of the finished tasks. */
  readonly heapEarlyBytes: number;
  readonly heapLateBytes: number;
}

/** How much of each. */
export interface ControlPlaneSize {
  readonly tasks: number;
  readonly workers: number;
  readonly finished: number;
}

const followers = 50;

/** Statuses that are asked for, and the time between two, in milliseconds. */
const [statuses, everyMs] = [1_000, 5];

const word = (count: number): string => String(count).replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "");
const cluster = (count: number, cpu: number): SimulatedWorker[] => Array.from({ length: count }, (_, index) => new SimulatedWorker(`w${index}`, { cpu, memoryBytes: 2 ** 35, diskBytes: 2 ** 35 }));

/** Measures a controller whose workers run nothing, so that all the time is its own. */
export async function benchControlPlane({ tasks, workers, finished }: ControlPlaneSize): Promise<ControlPlaneRow[]> {
  return [{ tasks, workers, followers, ...(await measureBusy(tasks, workers)), finishedTasks: finished, ...(await measureMemory(finished)) }];
}

async function measureBusy(tasks: number, count: number): Promise<Pick<ControlPlaneRow, "jobsPerSecond" | "linesPerSecond" | "statusMedianMilliseconds" | "statusP99Milliseconds">> {
  const machines = cluster(count, 8);
  const { api, controller, kill } = await continueStore(":memory:");
  for (const machine of machines) controller.addWorker(machine.link());
  const replicas = Math.floor((count * 8) / followers);
  const running = await Promise.all(Array.from({ length: followers }, (_, index) => api.submit(submission({ name: `run-${word(index)}`, replicas }, `run ${index}`))));
  const start = performance.now();
  const waiting = await Promise.all(Array.from({ length: tasks / 10 }, (_, index) => api.submit(submission({ name: `wait-${word(index)}`, replicas: 10, resources: { cpu: 8 } }, `wait ${index}`))));
  const jobsPerSecond = (1_000 * waiting.length) / (performance.now() - start);
  while (controller.workers.placed().length < followers * replicas) await delay(10);
  for (const machine of machines) machine.step();
  // What is measured is the steady state: thousands of starts at once come first.
  await delay(2_000);
  const stop = new AbortController();
  let lines = 0;
  const reading = running.map(async ({ uid }) => {
    for await (const batch of api.logs({ job: uid, follow: true }, { signal: stop.signal })) lines += batch.lines.length;
  });
  const pump = setInterval(() => machines[Math.floor(Math.random() * count)]?.tell({ type: "log", source: "stdout", level: "info", message: "a line of the log" }), 4);
  const latencies: number[] = [];
  const asking = performance.now();
  for (let index = 0; index < statuses; index += 1) {
    const due = asking + index * everyMs;
    await delay(Math.max(0, due - performance.now()));
    const asked = performance.now();
    await api.status({ job: (index % 2 === 0 ? running[index % followers] : waiting[index % waiting.length])?.uid ?? "" });
    latencies.push(performance.now() - Math.min(due, asked));
  }
  const linesPerSecond = (1_000 * lines) / (performance.now() - asking);
  clearInterval(pump);
  stop.abort();
  await Promise.allSettled(reading);
  kill();
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(share * (latencies.length - 1))] as number;
  return { jobsPerSecond, linesPerSecond, statusMedianMilliseconds: at(0.5), statusP99Milliseconds: at(0.99) };
}

async function measureMemory(finished: number): Promise<Pick<ControlPlaneRow, "tasksPerSecond" | "heapEarlyBytes" | "heapLateBytes">> {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const heap = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const machines = cluster(20, 50);
  const { api, controller, kill } = await continueStore(":memory:", { endedKept: 1_000 });
  for (const machine of machines) controller.addWorker(machine.link());
  const rounds = Math.ceil(finished / 1_000);
  let heapEarlyBytes = 0;
  const start = performance.now();
  for (let round = 0; round < rounds; round += 1) {
    const jobs = await Promise.all(Array.from({ length: 100 }, (_, index) => api.submit(submission({ name: `job-${word(round * 100 + index)}`, replicas: 10 }, `${round} ${index}`))));
    let over = false;
    const ends = Promise.all(jobs.map(({ uid }) => api.wait({ job: uid }))).finally(() => (over = true));
    while (!over) {
      for (const machine of machines) machine.step();
      await immediate();
    }
    await ends;
    for (const machine of machines) machine.started.length = 0;
    if (round + 1 === Math.ceil(rounds / 5)) heapEarlyBytes = heap();
  }
  const tasksPerSecond = (1_000 * rounds * 1_000) / (performance.now() - start);
  const heapLateBytes = heap();
  kill();
  return { tasksPerSecond, heapEarlyBytes, heapLateBytes };
}
