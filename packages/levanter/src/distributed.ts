import { initializeIrisTf, irisCtx, type Logger, type TfDevice } from "@marin/iris";
import { selectEngine, type EngineDevice, type EngineSelection } from "./engine/select.js";
import type { Engine, EngineName } from "./engine/types.js";

/** What a worker computes with. */
export interface JoinOptions {
  /** An engine by name, or `auto` for the best that works with what the task was given. Default: `auto`. */
  readonly engine?: EngineName | "auto" | undefined;
  /** Where the engine computes. Default: `auto`: what the task was given. */
  readonly device?: EngineDevice | undefined;
  /** In what matrix products compute. Default: `float32`. */
  readonly precision?: EngineSelection["precision"];
  /** Threads that compute; 0, the default: the processors that the task was given. */
  readonly threads?: number | undefined;
  /** Takes warnings. Default: the log of the context. */
  readonly log?: Logger | undefined;
}

/** A worker's place among those that train together. */
export interface Membership {
  /** Computes; released by `leave`. */
  readonly engine: Engine;
  /** This worker, from 0 up. */
  readonly rank: number;
  /** Workers in all. */
  readonly worldSize: number;
  /** Threads that compute. */
  readonly threads: number;
  /** Where it computes. */
  readonly device: TfDevice;
  /** Where the workers meet, "host:port"; undefined for one that is alone. */
  readonly rendezvous: string | undefined;
  /** Takes the worker out of the registry and releases its engine. Harmless when called again. */
  leave(): Promise<void>;
}

/**
 * Makes the running task a training worker: has iris set up rank, threads and device, starts the engine, registers the worker as
 * `<job id>/workers/<rank>` and reports what it computes with. It leaves the registry when the task's signal is aborted, and leaves altogether, at the
 * latest, when the task ends.
 *
 * @throws MarinError IRIS_NO_CONTEXT outside a task; what `initializeIrisTf` and `selectEngine` throw
 */
export async function joinDistributed({ engine: name = "auto", device: where = "auto", precision, threads: asked = 0, log }: JoinOptions = {}): Promise<Membership> {
  const context = irisCtx();
  const chosen: { threads?: number; device?: TfDevice } = {};
  const port = {
    setThreads: (threads: number) => void (chosen.threads = threads),
    setDevice: (device: TfDevice) => void (chosen.device = device),
  };
  const { rank, worldSize, rendezvous, threads, device } = await initializeIrisTf(port, asked === 0 ? {} : { threads: asked });
  const notice = log ?? context.log;
  const engine = await selectEngine({
    engine: name,
    threads: chosen.threads,
    precision,
    // An engine or device asked for by name says itself what it needs; auto keeps to what the task was given.
    device: where === "auto" && name === "auto" && chosen.device === "cpu" ? "cpu" : where,
    onNotice: (line) => {
      notice.warn(line);
    },
  });
  let left: Promise<void> | undefined;
  try {
    const metadata = { rank: String(rank), worldSize: String(worldSize), threads: String(threads), device, engine: engine.description };
    const endpoint = await context.registry.register(`${context.jobId}/workers/${String(rank)}`, `pid:${String(process.pid)}`, metadata);
    context.log.debug("training worker joined", { rank, worldSize, threads, device, engine: engine.description });
    context.metrics.report({ rank, worldSize, threads });
    const unregister = (): void => void endpoint.close();
    context.signal.addEventListener("abort", unregister, { once: true });
    const leave = (): Promise<void> =>
      (left ??= (async () => {
        context.signal.removeEventListener("abort", unregister);
        await endpoint.close();
        await engine.dispose();
      })());
    context.onExit(leave);
    return { engine, rank, worldSize, threads, device, rendezvous, leave };
  } catch (error) {
    await engine.dispose();
    throw error;
  }
}
