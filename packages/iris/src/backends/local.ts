import { FrayWorker, entry } from "@marin/fray";
import type { Resources } from "../jobs/job-spec.js";
import type { runTask } from "../runtime/task-main.js";
import { type TaskIdentity, identityVariable } from "../runtime/task-identity.js";
import { failureFromWire, failureToWire } from "../runtime/failure.js";
import { controlService } from "../runtime/task-service.js";
import { MarinError, isMarinError } from "../platform.js";
import type { ClusterBackend, TaskHost, TaskLaunch, TaskOutcome, TaskRun } from "./backend.js";
import { type PortLease, leasePorts } from "./ports.js";
import { serveTask } from "./serve-task.js";

/** From the abort of a task's signal to the TERM of its process group; KILL comes a second later. */
const graceMs = 4_000;

/** How long a task's process may take to end once its function has. */
const exitMs = 1_000;

const taskMain = new URL(import.meta.url.endsWith(".ts") ? "../runtime/task-main.ts" : "../runtime/task-main.js", import.meta.url);

/** Runs tasks as processes of this machine, each the head of a process group. */
export class LocalBackend implements ClusterBackend {
  readonly machines: readonly { readonly name: string; readonly capacity: Resources }[];
  /** Numbers of the graphics processors that no task has. */
  readonly #gpus: number[];

  /**
   * @param name - the cluster's name
   * @param capacity - what to give to tasks
   */
  constructor(name: string, capacity: Resources) {
    this.machines = [{ name, capacity }];
    this.#gpus = Array.from({ length: capacity.device?.kind === "gpu" ? capacity.device.count : 0 }, (_, index) => index);
  }

  start(launch: TaskLaunch, host: TaskHost): TaskRun {
    const gpus = this.#gpus.splice(0, launch.spec.resources.device?.count ?? 0);
    const task = new LocalTask(launch, gpus, host);
    const ended = task.run().finally(() => {
      this.#gpus.push(...gpus);
      this.#gpus.sort((a, b) => a - b);
    });
    return { ended, stop: (reason) => task.stop(reason) };
  }
}

class LocalTask {
  readonly #launch: TaskLaunch;
  readonly #gpus: readonly number[];
  readonly #host: TaskHost;
  readonly #controller = new AbortController();
  #worker: FrayWorker | undefined;

  constructor(launch: TaskLaunch, gpus: readonly number[], host: TaskHost) {
    this.#launch = launch;
    this.#gpus = gpus;
    this.#host = host;
  }

  stop(reason: Error): void {
    if (this.#controller.signal.aborted) return;
    this.#controller.abort(reason);
    this.#stopWorker(reason);
  }

  async run(): Promise<TaskOutcome> {
    let lease: PortLease | undefined;
    try {
      lease = await leasePorts(this.#launch.spec.ports);
      this.#host.started({ ports: lease.ports });
      return await this.#runProcess(lease.ports);
    } catch (error) {
      return { kind: "lost", error: this.#notStarted(error) };
    } finally {
      lease?.release();
    }
  }

  async #runProcess(ports: Readonly<Record<string, number>>): Promise<TaskOutcome> {
    const { jobId, taskIndex, attempt, spec } = this.#launch;
    const { env, replicas, resources } = spec;
    const identity: TaskIdentity = { jobId, attempt, taskIndex, numTasks: replicas, resources, ports };
    const { signal } = this.#controller;
    signal.throwIfAborted();
    const worker = await FrayWorker.start({
      kind: "process",
      name: replicas === 1 ? jobId : `${jobId}[${String(taskIndex)}]`,
      detached: true,
      env: {
        ...(this.#gpus.length === 0 ? {} : { CUDA_VISIBLE_DEVICES: this.#gpus.join(",") }),
        ...env,
        [identityVariable]: JSON.stringify(identity),
      },
      onStdout: (line) => this.#host.printed("stdout", line),
      onStderr: (line) => this.#host.printed("stderr", line),
      signal,
    });
    this.#worker = worker;
    const { pid } = worker;
    try {
      serveTask(worker.connection, this.#host);
      this.#host.started(pid === undefined ? {} : { pid });
      if (signal.aborted) this.#stopWorker(signal.reason as Error);
      return await this.#call(worker, identity);
    } finally {
      // Ends what the task has started and left behind as well: its whole process group.
      await worker.stop({ graceMs: exitMs });
    }
  }

  async #call(worker: FrayWorker, identity: TaskIdentity): Promise<TaskOutcome> {
    const { entry: work, args } = this.#launch.spec;
    if (work === undefined) throw new Error("this backend runs entries, not commands");
    try {
      const answer = await worker.call(entry<typeof runTask>(taskMain, "runTask"), [identity, work, args]);
      return answer.kind === "returned" ? answer : { kind: "threw", error: failureFromWire(answer.failure) };
    } catch (error) {
      const gone = isMarinError(error, "FRAY_WORKER_LOST") || isMarinError(error, "FRAY_WORKER_STOPPED");
      return gone ? { kind: "lost", error: await this.#lost(worker, error) } : { kind: "threw", error: error as Error };
    }
  }

  async #lost(worker: FrayWorker, cause: Error): Promise<MarinError> {
    const { jobId, taskIndex, attempt } = this.#launch;
    const { code, signal, stderrTail } = await worker.exited;
    const how = signal !== null ? `was killed by ${signal}${signal === "SIGKILL" ? " (the system does so when memory runs out; else somebody did)" : ""}` : `ended with exit code ${String(code)}`;
    const printed = stderrTail === "" ? "" : ` The last it wrote to standard error: ${stderrTail}`;
    return new MarinError("IRIS_WORKER_LOST", `The process of task ${String(taskIndex)} of the job ${jobId} (pid ${String(worker.pid)}) ${how} before its function returned.${printed}`, {
      data: { job: jobId, taskIndex, attempt, pid: worker.pid, signal, exitCode: code, stderrTail },
      cause,
    });
  }

  #notStarted(cause: unknown): Error {
    if (!isMarinError(cause, "FRAY_WORKER_LOST")) return cause instanceof Error ? cause : new Error(String(cause));
    const { jobId, taskIndex, attempt } = this.#launch;
    return new MarinError("IRIS_WORKER_LOST", `The process of task ${String(taskIndex)} of the job ${jobId} did not start: ${cause.message}`, { data: { ...cause.data, job: jobId, taskIndex, attempt }, cause });
  }

  #stopWorker(reason: Error): void {
    const worker = this.#worker;
    if (worker === undefined) return;
    // It may be gone already, or too busy to answer: the time it is given sees to that.
    worker.connection
      .client(controlService)
      .abort({ reason: failureToWire(reason) })
      .catch(() => undefined);
    void worker.stop({ graceMs });
  }
}
