import { MarinError } from "@marin/ducky";
import type { Entry } from "./entry.js";
import { stopGraceMs, WorkerHost } from "./worker/host.js";
import type { WorkerPoolOptions } from "./worker-pool.js";

/** Workers of one kind, each started when it is needed first, that run one function at a time each. */
export class WorkerSet {
  readonly size: number;
  readonly #options: WorkerPoolOptions;
  readonly #hosts: (WorkerHost | undefined)[];
  readonly #idle: number[];
  readonly #waiting: { readonly take: (index: number) => void; readonly refuse: (error: unknown) => void }[] = [];
  #closing: Promise<void> | undefined;

  /** @throws MarinError FRAY_BAD_CONCURRENCY for a size below 1 */
  constructor(options: WorkerPoolOptions) {
    const { size } = options;
    if (!Number.isSafeInteger(size) || size < 1) {
      throw new MarinError("FRAY_BAD_CONCURRENCY", `A pool's size is a whole number of at least 1, found ${String(size)}.`, { data: { size } });
    }
    this.size = size;
    this.#options = options;
    this.#hosts = new Array<undefined>(size).fill(undefined);
    this.#idle = Array.from({ length: size }, (_, index) => index);
  }

  /** Starts all of them at once; closes the set where one fails. */
  async startAll(): Promise<void> {
    const started = await Promise.allSettled(this.#hosts.map((_, index) => this.#worker(index)));
    const failure = started.find((result) => result.status === "rejected");
    if (failure === undefined) return;
    await this.close();
    throw failure.reason;
  }

  /** Runs a function in a worker that has nothing to do. Settles only when it has ended; a worker whose function does not end when it is aborted is ended. */
  async run(named: Entry, args: readonly unknown[], signal: AbortSignal): Promise<unknown> {
    const index = await this.#acquire(signal);
    let killer: NodeJS.Timeout | undefined;
    try {
      const host = await this.#worker(index);
      const onAbort = (): void => {
        killer = setTimeout(() => host.kill(), stopGraceMs);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await host.run(named, args, signal);
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    } finally {
      clearTimeout(killer);
      this.#release(index);
    }
  }

  /** Stops the workers; what waits is refused. */
  close(graceMs: number = stopGraceMs): Promise<void> {
    this.#closing ??= (async () => {
      for (const { refuse } of this.#waiting.splice(0)) refuse(this.#closed());
      await Promise.all(this.#hosts.map(async (host) => host?.stop(graceMs)));
    })();
    return this.#closing;
  }

  /** The place of a worker that has nothing to do, one that is there before one that would have to be started. */
  #acquire(signal: AbortSignal): Promise<number> {
    if (this.#closing !== undefined) return Promise.reject(this.#closed());
    const present = this.#idle.findIndex((index) => this.#hosts[index]?.alive === true);
    const [index] = this.#idle.splice(Math.max(0, present), 1);
    if (index !== undefined) return Promise.resolve(index);
    return new Promise((resolve, reject) => {
      const waiter = {
        take: (free: number): void => {
          signal.removeEventListener("abort", onAbort);
          resolve(free);
        },
        refuse: reject,
      };
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as throwIfAborted does: the reason is whatever the caller gave
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(waiter);
    });
  }

  #release(index: number): void {
    const waiter = this.#waiting.shift();
    if (waiter === undefined) this.#idle.push(index);
    else waiter.take(index);
  }

  /** The worker of a place; a new one where there is none or the last one has died. */
  async #worker(index: number): Promise<WorkerHost> {
    const present = this.#hosts[index];
    if (present?.alive === true) return present;
    if (this.#closing !== undefined) throw this.#closed();
    const { kind, name, size, prepare, env = {}, onWorker } = this.#options;
    const member = { index, size, name };
    const host = new WorkerHost({
      kind,
      name: `${name}-${index}`,
      env,
      detached: false,
      onStdout: (line) => {
        if (this.#options.onStdout === undefined) process.stdout.write(`${line}\n`);
        else this.#options.onStdout(line, index);
      },
      onStderr: (line) => {
        if (this.#options.onStderr === undefined) process.stderr.write(`${line}\n`);
        else this.#options.onStderr(line, index);
      },
    });
    this.#hosts[index] = host;
    onWorker?.({ ...member, pid: host.pid, connection: host.connection, exited: host.exited });
    await host.ready();
    if (prepare !== undefined) {
      await host.run(prepare as Entry, [member]).catch((error: unknown) => {
        host.kill();
        throw error;
      });
    }
    return host;
  }

  #closed(): MarinError {
    return new MarinError("FRAY_POOL_CLOSED", `The pool "${this.#options.name}" is closed.`, { data: { pool: this.#options.name } });
  }
}
