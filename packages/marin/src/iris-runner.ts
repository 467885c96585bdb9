import { entry, IrisClient, JobScheduler, type Job, type JobEvent, type JobState, type JobStatus } from "@marin/iris";
import { MarinError, ownIdentity } from "@marin/rigging";

import type { StepWork } from "./produce-step.js";
import type { StepListener, StepRunner } from "./step-runner.js";
import type { StepResources } from "./step.js";
import type { runStep, StepRequest } from "./steps/run-step.js";

/** What every step of a run shares. */
export interface IrisRunnerOptions {
  /** Name of the cluster. */
  readonly cluster: string;
  /** URL of the module that exports the experiment. */
  readonly module: string;
  readonly experiment: string;
  readonly options: unknown;
}

/** Runs each step as a job of a cluster, in a process of its own. */
export async function irisRunner({ cluster, module, experiment, options }: IrisRunnerOptions): Promise<StepRunner> {
  const client = await IrisClient.cluster(cluster);
  const work = entry<typeof runStep>(new URL("./steps/run-step.js", import.meta.url), "runStep");
  const { capacity } = await new JobScheduler({ cluster }).plan({ name: experiment, entry: work });
  const all = capacity?.cpu ?? 1;
  const cpusOf = ({ cpu = 1 }: StepResources): number => (cpu === "all" ? all : cpu);
  return {
    cluster,
    defaultConcurrency: Infinity,
    cpusOf,
    async run(stepWork, listener) {
      const { name, step } = stepWork.planned;
      const { memoryBytes = 0, ...resources } = step.definition.resources?.(step.config) ?? {};
      const request = requestFor(stepWork, { module, experiment, options });
      const spec = { name: `${experiment}/${jobName(name)}`, entry: work, args: [request], resources: { cpu: cpusOf(resources), memoryBytes }, maxRetriesPreemption: 0 };
      const job = await client.submit(spec, { signal: listener.signal });
      await follow(job, name, listener);
      const { state, error } = await job.wait();
      if (state === "SUCCEEDED") return;
      if (state === "KILLED") listener.signal.throwIfAborted();
      throw error ?? new MarinError("MARIN_STEP_LOST", `the job ${job.id} ended ${state} and does not say why`, { data: { job: job.id, state } });
    },
    close: () => client.close(),
  };
}

function requestFor(work: StepWork, run: Pick<StepRequest, "module" | "experiment" | "options">): StepRequest {
  const { planned, store, inputs, workingDirectory, replace, provenance, onBehalfOf = ownIdentity() } = work;
  return {
    ...run,
    step: planned.name,
    fingerprint: planned.fingerprint,
    identity: planned.identity,
    inputs: Object.fromEntries(Object.entries(inputs).map(([role, { step, record, fingerprint }]) => [role, { step, name: record.name, fingerprint }])),
    prefix: store.directory,
    workingDirectory,
    replace,
    provenance,
    onBehalfOf,
  };
}

/** States of a job that has its place and has not ended. */
const underWay: ReadonlySet<JobState> = new Set<JobState>(["ASSIGNED", "BUILDING", "RUNNING"]);

/** Tells what happens to a job, until its end. */
async function follow(job: Job, step: string, listener: StepListener): Promise<void> {
  let started = false;
  for await (const event of job.events()) {
    if (event.type === "state" && !started && underWay.has(event.status.state)) {
      started = true;
      listener.started();
    }
    tell(event, step, listener);
  }
}

function tell(event: JobEvent, step: string, { progress, emit }: StepListener): void {
  switch (event.type) {
    case "progress":
      progress(event.progress);
      break;
    case "metrics":
      emit({ event: "metrics", step, metrics: event.step === undefined ? event.values : { step: event.step, ...event.values } });
      break;
    case "log": {
      const { source, level, message } = event.line;
      if (source === "stdout" || source === "stderr") emit({ event: "output", step, stream: source, line: message });
      else if (level !== "debug") emit({ event: "message", step, message });
      break;
    }
    case "state":
      emit({ event: "job", step, ...jobFields(event.status) });
      break;
  }
}

function jobFields({ id, state, pendingReason, tasks }: JobStatus): { readonly job: string; readonly state: string; readonly pid?: number; readonly pendingReason?: string } {
  const pid = tasks[0]?.pid;
  return { job: id, state, ...(pid === undefined ? {} : { pid }), ...(pendingReason === undefined ? {} : { pendingReason }) };
}

/** A step's name as iris writes names: lower-case words. */
function jobName(step: string): string {
  const words = step.replace(/([a-z0-9])([A-Z])/g, "$1-$2").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  return /^[a-z]/.test(words) ? words : `step-${words}`;
}
