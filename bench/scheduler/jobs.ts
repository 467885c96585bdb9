import { IrisClient, type Job, type JobSpec, entry } from "@marin/iris";
import type { nothing } from "../peers/iris-tasks.js";
import { SlurmError, submitAndWait, submitToRunning } from "../peers/slurm.js";
import { median } from "../statistics.js";

/** What a system makes of jobs that do nothing; or why it was not measured. */
export type JobsRow =
  | { readonly system: string; readonly unmeasured: string }
  | {
      readonly system: string;
      readonly what: string;
      readonly jobs: number;
      /** Jobs that ended in a second, all submitted at once. */
      readonly jobsPerSecond: number;
      /** From the call that submits a job to an idle system until its program runs; not of the tasks of one job. */
      readonly startMedianMilliseconds?: number;
      readonly startP99Milliseconds?: number;
    };

/** The tasks that a job can have. */
const MOST_REPLICAS = 1_000;

/** How many jobs are measured. */
export interface JobsSize {
  /** Submitted at once. */
  readonly jobs: number;
  /** Submitted one after the other. */
  readonly single: number;
}

/** Jobs per second, and the time from submission to running, of iris on this machine and of Slurm on this machine. */
export async function benchJobs(size: JobsSize): Promise<JobsRow[]> {
  const task = entry<typeof nothing>(new URL("../peers/iris-tasks.js", import.meta.url).href, "nothing");
  // As many processors as Slurm's nodes are told they have, so that both run as many at a time.
  const command: Omit<JobSpec, "name"> = { command: ["true"], resources: { cpu: 1 } };
  return [
    await irisRow("iris", "a command (true), a process each", command, size),
    await irisRow("iris", "a function, a fresh Node process each", { entry: task, resources: { cpu: 1 } }, { jobs: Math.ceil(size.jobs / 10), single: Math.ceil(size.single / 4) }),
    await irisRow("iris", "a function, warm processes", { entry: task, resources: { cpu: 1 }, isolation: "warm" }, size),
    await tasksRow("a function, tasks of one job, warm processes", { entry: task, resources: { cpu: 1 }, isolation: "warm" }, Math.min(size.jobs, MOST_REPLICAS)),
    await slurmRow(size),
  ];
}

async function irisRow(system: string, what: string, spec: Omit<JobSpec, "name">, { jobs, single }: JobsSize): Promise<JobsRow> {
  await using client = IrisClient.local({ cpus: 4 });
  // The first one starts the worker.
  await (await client.submit({ ...spec, name: "first" })).wait();
  const starts: number[] = [];
  for (let index = 0; index < single; index += 1) {
    const start = performance.now();
    const job = await client.submit({ ...spec, name: `single-j${String(index)}` });
    starts.push((await running(job)) - start);
    await succeeded(job);
  }
  const start = performance.now();
  const all = await Promise.all(Array.from({ length: jobs }, (_, index) => client.submit({ ...spec, name: `many-j${String(index)}` })));
  await Promise.all(all.map(succeeded));
  const seconds = (performance.now() - start) / 1_000;
  return { system, what, jobs, jobsPerSecond: jobs / seconds, ...quantiles(starts) };
}

/** One job of many tasks. */
async function tasksRow(what: string, spec: Omit<JobSpec, "name">, tasks: number): Promise<JobsRow> {
  await using client = IrisClient.local({ cpus: 4 });
  // Starts the warm processes, one for each processor.
  await succeeded(await client.submit({ ...spec, name: "first", replicas: 4 }));
  const start = performance.now();
  await succeeded(await client.submit({ ...spec, name: "many", replicas: tasks }));
  return { system: "iris", what, jobs: tasks, jobsPerSecond: tasks / ((performance.now() - start) / 1_000) };
}

/** When the job's program ran, by this process's clock. */
async function running(job: Job): Promise<number> {
  for await (const event of job.events()) {
    if (event.type === "state" && (event.status.state === "RUNNING" || event.status.state === "SUCCEEDED")) return performance.now();
  }
  return performance.now();
}

async function succeeded(job: Job): Promise<void> {
  const { state, error } = await job.wait();
  if (state !== "SUCCEEDED") throw new Error(`the job ${job.id} ended ${state}`, { cause: error });
}

async function slurmRow({ jobs, single }: JobsSize): Promise<JobsRow> {
  try {
    const starts: number[] = [];
    for (let index = 0; index < single; index += 1) starts.push(await submitToRunning());
    const seconds = await submitAndWait(jobs);
    return { system: "slurm", what: "a script (true), sbatch each", jobs, jobsPerSecond: jobs / seconds, ...quantiles(starts) };
  } catch (error) {
    if (!(error instanceof SlurmError)) throw error;
    return { system: "slurm", unmeasured: error.message };
  }
}

function quantiles(times: readonly number[]): { readonly startMedianMilliseconds: number; readonly startP99Milliseconds: number } {
  const sorted = [...times].sort((a, b) => a - b);
  return { startMedianMilliseconds: median(sorted), startP99Milliseconds: sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? Number.NaN };
}
