import type { Connection } from "@marin/ducky";
import type { Entry } from "./entry.js";
import { Future } from "./future.js";
import { stopGraceMs, WorkerHost } from "./worker/host.js";
import type { WorkerExit } from "./worker/start.js";

/** Settings of {@link FrayWorker.start}. */
export interface FrayWorkerOptions {
  /** A process of its own, or a thread of this one. A thread shares this process's memory limit and falls with it. */
  readonly kind: "process" | "thread";
  /** Shown in errors and, for a process, in its command line. */
  readonly name: string;
  /** Variables beside this process's own. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether a process leads a process group of its own, which a terminal's Ctrl-C does not reach and which is ended with it. Default: false. */
  readonly detached?: boolean;
  /** Takes each line of its standard output; of one longer than 65,536 characters parts, all but the last with `goesOn`. Default: this process's standard output. */
  readonly onStdout?: (line: string, goesOn: boolean) => void;
  /** Takes each line of its standard error, in the same way. Default: this process's standard error. */
  readonly onStderr?: (line: string, goesOn: boolean) => void;
  /** Stops it when aborted; also ends a start under way. Default: never. */
  readonly signal?: AbortSignal;
}

/**
 * A process or thread that runs exported functions on request. It ends with whoever started it, however that ends: a
 * process within a second even after `kill -9` and in the middle of a computation.
 */
export class FrayWorker implements AsyncDisposable {
  readonly #host: WorkerHost;

  private constructor(host: WorkerHost) {
    this.#host = host;
  }

  /**
   * Starts one, with the flags of Node that this process was started with.
   *
   * @throws MarinError FRAY_WORKER_LOST when it ends before it can take calls; the signal's reason
   */
  static async start(options: FrayWorkerOptions): Promise<FrayWorker> {
    const { kind, name, env = {}, detached = false, signal } = options;
    signal?.throwIfAborted();
    const host = new WorkerHost({
      kind,
      name,
      env,
      detached: detached && kind === "process",
      onStdout: options.onStdout ?? ((line) => process.stdout.write(`${line}\n`)),
      onStderr: options.onStderr ?? ((line) => process.stderr.write(`${line}\n`)),
    });
    let started = false;
    const onAbort = (): void => {
      if (started) void host.stop(stopGraceMs);
      else host.kill();
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    void host.exited.then(() => signal?.removeEventListener("abort", onAbort));
    try {
      await host.ready();
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
    signal?.throwIfAborted();
    started = true;
    return new FrayWorker(host);
  }

  /** Process id; undefined for a thread. */
  get pid(): number | undefined {
    return this.#host.pid;
  }

  /** To the worker: both sides may serve and call services of their own. */
  get connection(): Connection {
    return this.#host.connection;
  }

  /** Fulfilled when it has ended, in whatever way, and all its output has been passed on. */
  get exited(): Promise<WorkerExit> {
    return this.#host.exited;
  }

  /**
   * Runs an exported function in the worker, any number at a time. Arguments and result travel by the rules of structured
   * clone. Cancelling the future aborts `currentCall().signal` in the worker.
   *
   * The future fails with what the function throws (class name, code, data, causes survive), or with MarinError
   * FRAY_WORKER_LOST (`data`: pid, code, signal, stderrTail), FRAY_WORKER_STOPPED, FRAY_NOT_CLONABLE, FRAY_ENTRY_IMPORT, FRAY_ENTRY_MISSING, FRAY_CANCELLED.
   *
   * @param named - made by `entry`
   * @param args - its arguments
   * @param options - `signal` cancels the future
   */
  call<A extends unknown[], R>(named: Entry<A, R>, args: A, options: { readonly signal?: AbortSignal } = {}): Future<R> {
    return Future.run((signal) => this.#host.run(named as Entry, args, signal) as Promise<R>, options);
  }

  /**
   * Aborts the functions at work, waits for them to end, and ends the worker. After the grace a process gets SIGTERM, and a
   * second later SIGKILL; a thread is ended.
   *
   * @param options - `graceMs`, default 4000
   */
  stop(options: { readonly graceMs?: number } = {}): Promise<WorkerExit> {
    return this.#host.stop(options.graceMs ?? stopGraceMs);
  }

  /** Ends it at once (SIGKILL; with `detached` its whole group). */
  kill(): void {
    this.#host.kill();
  }

  /** Stops it with the default grace. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
