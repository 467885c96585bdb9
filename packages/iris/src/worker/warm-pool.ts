import type { TaskProcess } from "./task-process.js";

/** Settings of {@link WarmPool}. */
export interface WarmPoolOptions {
  /** Starts a process with that environment. */
  readonly start: (env: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<TaskProcess>;
  /** Processes that may wait for their next attempt, of all environments together. */
  readonly maxIdle: number;
  /** How long one waits before it is ended, in milliseconds. */
  readonly idleMs: number;
}

interface Idle {
  readonly key: string;
  readonly process: TaskProcess;
  readonly timer: NodeJS.Timeout;
}

/** Processes that attempts of equal environment use one after another. */
export class WarmPool {
  readonly #options: WarmPoolOptions;
  /** The latest used last. */
  #idle: Idle[] = [];
  #closed = false;

  constructor(options: WarmPoolOptions) {
    this.#options = options;
  }

  /** Processes that wait. */
  get idle(): number {
    return this.#idle.length;
  }

  /** One that waits, or a new one. */
  async take(env: Readonly<Record<string, string>>, signal: AbortSignal): Promise<TaskProcess> {
    const key = keyOf(env);
    const index = this.#idle.findLastIndex((each) => each.key === key);
    const [found] = index < 0 ? [] : this.#idle.splice(index, 1);
    if (found === undefined) return this.#options.start(env, signal);
    clearTimeout(found.timer);
    return found.process;
  }

  /** Takes a process back whose attempt has ended well; where there is no room, the one that waits longest ends. */
  async give(env: Readonly<Record<string, string>>, process: TaskProcess): Promise<void> {
    if (this.#closed || this.#options.maxIdle === 0) return void (await process.end());
    const idle: Idle = { key: keyOf(env), process, timer: setTimeout(() => this.#end(idle), this.#options.idleMs) };
    idle.timer.unref();
    this.#idle.push(idle);
    void process.exited.then(() => this.#forget(idle));
    const [oldest] = this.#idle;
    if (this.#idle.length > this.#options.maxIdle && oldest !== undefined) this.#end(oldest);
  }

  /** Starts processes ahead of their attempts. */
  async prepare(env: Readonly<Record<string, string>>, count: number, signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: count }, async () => this.give(env, await this.#options.start(env, signal))));
  }

  /** Ends those that wait, and each that comes back from now on. */
  async close(): Promise<void> {
    this.#closed = true;
    const waiting = this.#idle;
    this.#idle = [];
    for (const { timer } of waiting) clearTimeout(timer);
    await Promise.all(waiting.map(({ process }) => process.end()));
  }

  #end(idle: Idle): void {
    this.#forget(idle);
    void idle.process.end();
  }

  #forget(idle: Idle): void {
    clearTimeout(idle.timer);
    this.#idle = this.#idle.filter((each) => each !== idle);
  }
}

function keyOf(env: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1)));
}
