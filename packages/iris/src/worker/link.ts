import type { Connection } from "@marin/ducky";
import type { ExecEvent, ExecRequest, Observed, ReconcileRequest, Report, WorkerInfo } from "./protocol.js";
import { workerService } from "./protocol.js";

/** The controller's way to one worker, in this process or at the other end of a connection. */
export interface WorkerLink {
  /** What the worker said about itself when the way was opened. */
  readonly info: WorkerInfo;
  /** Fulfilled when the way is gone. What runs on the worker goes on. */
  readonly closed: Promise<void>;
  /**
   * Tells the worker all it is to have; it answers what it has.
   *
   * @throws MarinError IRIS_STALE_CONTROLLER when a later controller has spoken to the worker; DUCKY_CLOSED and its kin when it cannot be reached
   */
  reconcile(request: ReconcileRequest): Promise<Observed>;
  /**
   * What happens to the attempts, in order for each: behind what the latest reconcile acknowledged, then as it comes.
   *
   * @param epoch - the controller's
   * @param signal - ends the reading
   */
  reports(epoch: number, signal: AbortSignal): AsyncIterable<readonly Report[]>;
  /**
   * Runs a command beside a running task: same directory, same variables.
   *
   * @throws MarinError IRIS_NO_ATTEMPT when it does not run there
   */
  exec(request: ExecRequest, signal: AbortSignal): AsyncIterable<ExecEvent>;
  /** Stops all attempts and ends the worker. */
  shutdown(epoch: number): Promise<void>;
}

/**
 * The worker at the other end of a connection.
 *
 * @param connection - to a worker's process, who serves {@link workerService}; whichever end has dialled
 */
export async function remoteWorker(connection: Connection): Promise<WorkerLink> {
  const calls = connection.client(workerService);
  return {
    info: await calls.info({}),
    closed: connection.closed,
    reconcile: (request) => calls.reconcile(request),
    reports: (epoch, signal) => calls.reports({ epoch }, { signal }),
    exec: (request, signal) => calls.exec(request, { signal }),
    shutdown: async (epoch) => void (await calls.shutdown({ epoch })),
  };
}

/**
 * Lets the controller at the other end of a connection use a worker.
 *
 * @param connection - to the controller
 * @param worker - what it uses
 */
export function serveWorkerLink(connection: Connection, worker: WorkerLink): void {
  connection.serve(workerService, {
    info: () => worker.info,
    reconcile: (request) => worker.reconcile(request),
    reports: ({ epoch }, { signal }) => mutable(worker.reports(epoch, signal)),
    exec: (request, { signal }) => worker.exec(request, signal),
    shutdown: async ({ epoch }) => {
      await worker.shutdown(epoch);
      return null;
    },
  });
}

async function* mutable(batches: AsyncIterable<readonly Report[]>): AsyncGenerator<Report[], void, void> {
  for await (const batch of batches) yield [...batch];
}
