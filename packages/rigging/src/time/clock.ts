/** Where time comes from, so that tests decide it. */
export interface Clock {
  /** Milliseconds since 1970, as the calendar has them: it may jump. */
  now(): number;
  /** Milliseconds since some moment, by a clock that never jumps. */
  monotonic(): number;
  /**
   * Waits.
   *
   * @param milliseconds - how long; at most 0 waits for nothing
   * @param signal - ends the wait
   * @throws the signal's reason
   */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** Timers of Node fire at once when they are asked for longer than this. */
const longestTimer = 2 ** 31 - 1;

/** The system's own time. */
export const systemClock: Clock = clock(true);

/** The same, for work in the background: a process whose other work is done does not wait for its sleeps. */
export const backgroundClock: Clock = clock(false);

function clock(holdsProcess: boolean): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    async sleep(milliseconds, signal) {
      const end = performance.now() + milliseconds;
      signal?.throwIfAborted();
      for (let left = milliseconds; left > 0; left = end - performance.now()) await pause(Math.min(Math.ceil(left), longestTimer), signal, holdsProcess);
    },
  };
}

function pause(milliseconds: number, signal: AbortSignal | undefined, holdsProcess: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    if (!holdsProcess) timer.unref();
    signal?.addEventListener("abort", abort, { once: true });
  });
}

interface Sleeper {
  readonly due: number;
  readonly wake: () => void;
}

/** A clock that moves when it is told to. */
export class ManualClock implements Clock {
  readonly #jumps: boolean;
  readonly #start: number;
  #elapsed = 0;
  #sleepers: Sleeper[] = [];

  /**
   * @param options - `startMs`, the first `now()`, default 0; `jumps`, whether a sleep moves the clock to its own end instead of waiting
   * for {@link ManualClock.advance}, default false
   */
  constructor(options: { readonly startMs?: number; readonly jumps?: boolean } = {}) {
    this.#start = options.startMs ?? 0;
    this.#jumps = options.jumps ?? false;
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#start + this.#elapsed;
  }

  /** Milliseconds that the clock was moved by. */
  monotonic(): number {
    return this.#elapsed;
  }

  /** How many sleeps have not ended. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  /** Waits until the clock is moved that far. @throws the signal's reason */
  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (milliseconds <= 0) return;
    if (this.#jumps) {
      await this.advance(milliseconds);
      signal?.throwIfAborted();
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const sleeper: Sleeper = { due: this.#elapsed + milliseconds, wake: () => (signal?.removeEventListener("abort", abort), resolve()) };
      const abort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.#sleepers.push(sleeper);
    });
  }

  /**
   * Moves the clock, wakes in turn whoever's time has come, and lets each do what it can before the next.
   *
   * @param milliseconds - at least 0
   */
  async advance(milliseconds: number): Promise<void> {
    const target = this.#elapsed + milliseconds;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.#sleepers.reduce<Sleeper | undefined>((first, one) => (first === undefined || one.due < first.due ? one : first), undefined);
      if (next === undefined || next.due > target) break;
      this.#elapsed = Math.max(this.#elapsed, next.due);
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      next.wake();
    }
    this.#elapsed = Math.max(this.#elapsed, target);
  }
}
