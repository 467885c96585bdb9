import { setTimeout as delay } from "node:timers/promises";
import { MarinError } from "../platform.js";
import { type IrisContext, irisCtx } from "./context.js";
import type { EndpointHandle } from "./endpoints.js";

/** Where a numerics engine computes. */
export type TfDevice = "cpu" | "gpu";

/** What {@link initializeIrisTf} sets up. The numerics engine implements it: iris knows no engine. */
export interface TfEnginePort {
  /**
   * Sets how many processor threads operations use.
   *
   * @param threads - at least 1
   */
  setThreads(threads: number): void | Promise<void>;
  /** Chooses where operations run: "gpu" when the task was given one. Leave it out where there is no choice. */
  setDevice?(device: TfDevice): void | Promise<void>;
}

/** Settings of {@link initializeIrisTf}. */
export interface IrisTfOptions {
  /** Threads to use. Default: the processors that the task was given, rounded up, at least 1. */
  readonly threads?: number;
  /** Name of the port, in the job's `ports`, at which task 0 meets the others. Default "rendezvous". */
  readonly port?: string;
  /** Longest wait for task 0, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
}

/** A task among those that compute together. */
export interface IrisTfRuntime {
  /** Threads that the engine uses. */
  readonly threads: number;
  /** Where it computes. */
  readonly device: TfDevice;
  /** This task, from 0 up. */
  readonly rank: number;
  /** Tasks in all. */
  readonly worldSize: number;
  /** Where task 0 listens, "host:port"; undefined for a task that is alone. */
  readonly rendezvous: string | undefined;
}

/**
 * Sets up the numerics engine for the running task: threads and device by what the task was given, rank and number of tasks by its place in the
 * job, and the address at which the tasks find each other.
 *
 * @param engine - what to set up
 * @param options - see {@link IrisTfOptions}
 * @throws MarinError IRIS_NO_CONTEXT outside a task; IRIS_NO_PORT when several tasks have no port to meet at; IRIS_RENDEZVOUS_TIMEOUT when task 0
 * does not come; the reason of the task's signal
 */
export async function initializeIrisTf(engine: TfEnginePort, options: IrisTfOptions = {}): Promise<IrisTfRuntime> {
  const context = irisCtx();
  const { resources, taskIndex, numTasks } = context;
  const threads = options.threads ?? Math.max(1, Math.ceil(resources.cpu));
  const device = resources.device?.kind === "gpu" ? "gpu" : "cpu";
  await engine.setThreads(threads);
  await engine.setDevice?.(device);
  const rendezvous = numTasks === 1 ? undefined : await meet(context, options.port ?? "rendezvous", options.timeoutMs ?? 60_000);
  context.log.debug("numerics engine initialized", { threads, device, rank: taskIndex, worldSize: numTasks, rendezvous });
  return { threads, device, rank: taskIndex, worldSize: numTasks, rendezvous };
}

async function meet(context: IrisContext, port: string, timeoutMs: number): Promise<string> {
  const { jobId, registry, signal, taskIndex } = context;
  const name = `${jobId}/${port}`;
  if (taskIndex === 0) {
    const address = `127.0.0.1:${String(context.port(port))}`;
    const endpoint: EndpointHandle = await registry.register(name, address);
    context.onExit(() => endpoint.close());
    return address;
  }
  const giveUpAt = performance.now() + timeoutMs;
  for (let waitMs = 20; ; waitMs = Math.min(1_000, waitMs * 2)) {
    const address = await registry.resolve(name);
    if (address !== undefined) return address;
    if (performance.now() + waitMs > giveUpAt) {
      throw new MarinError("IRIS_RENDEZVOUS_TIMEOUT", `Task ${String(taskIndex)} of the job ${jobId} waited ${String(timeoutMs)} ms for task 0, which offers no "${name}". Is there room for all its tasks at once?`, {
        data: { job: jobId, taskIndex, endpoint: name, timeoutMs },
      });
    }
    await delay(waitMs, undefined, { signal });
  }
}
