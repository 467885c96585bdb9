import { MarinError } from "@marin/ducky";
import { type Clock, systemClock } from "./clock.js";

/** Settings of {@link TokenBucket}. */
export interface TokenBucketOptions {
  /** The most that can be taken at once, and what is there at the start. */
  readonly capacity: number;
  /** What comes back each second. */
  readonly refillPerSecond: number;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * Lets through a steady rate and short bursts: in any t seconds at most `capacity + refillPerSecond t` is taken. Who waits is served in turn,
 * and nobody overtakes.
 */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #perMs: number;
  #level: number;
  #filledAt: number;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  /** @throws MarinError RIGGING_BAD_OPTION */
  constructor({ capacity, refillPerSecond, clock = systemClock }: TokenBucketOptions) {
    for (const [name, value] of Object.entries({ capacity, refillPerSecond })) {
      if (!(value > 0 && value < Infinity)) throw new MarinError("RIGGING_BAD_OPTION", `${name} must be a number above 0, and is ${String(value)}.`, { data: { option: name, found: value } });
    }
    this.#clock = clock;
    this.#capacity = capacity;
    this.#perMs = refillPerSecond / 1000;
    this.#level = capacity;
    this.#filledAt = clock.monotonic();
  }

  /** What can be taken now. */
  get available(): number {
    const now = this.#clock.monotonic();
    this.#level = Math.min(this.#capacity, this.#level + (now - this.#filledAt) * this.#perMs);
    this.#filledAt = now;
    return this.#level;
  }

  /**
   * Takes at once or not at all; not while others wait.
   *
   * @param amount - from 0 to the capacity. Default 1
   * @throws MarinError RIGGING_BAD_OPTION for an amount that the bucket never holds
   */
  tryTake(amount = 1): boolean {
    this.#check(amount);
    if (this.#waiting > 0 || this.available < amount) return false;
    this.#level -= amount;
    return true;
  }

  /**
   * Takes, after those who came before, when enough is there.
   *
   * @param amount - from 0 to the capacity. Default 1
   * @param options - `signal` ends the wait, and nothing is taken
   * @throws MarinError RIGGING_BAD_OPTION for an amount that the bucket never holds; the signal's reason
   */
  async take(amount = 1, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#check(amount);
    signal?.throwIfAborted();
    this.#waiting++;
    const turn = this.#last.then(() => this.#wait(amount, signal)).finally(() => this.#waiting--);
    this.#last = turn.catch(() => undefined);
    // Who gives up is told at once, and not when its turn comes.
    await (signal === undefined ? turn : untilAborted(turn, signal));
  }

  async #wait(amount: number, signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      signal?.throwIfAborted();
      const missing = amount - this.available;
      if (missing <= 0) break;
      // Timers count in whole milliseconds, and a rounding error of the level must not make a wait of nothing, again and again.
      await this.#clock.sleep(Math.max(1, missing / this.#perMs), signal);
    }
    this.#level -= amount;
  }

  #check(amount: number): void {
    if (amount >= 0 && amount <= this.#capacity) return;
    throw new MarinError("RIGGING_BAD_OPTION", `From 0 to ${String(this.#capacity)} can be taken at once, not ${String(amount)}: take parts.`, { data: { option: "amount", found: amount, capacity: this.#capacity } });
  }
}

async function untilAborted(turn: Promise<void>, signal: AbortSignal): Promise<void> {
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
  });
  await Promise.race([turn, aborted]).finally(() => signal.removeEventListener("abort", abort));
}

/** Says at most once an interval that it is time: for reports that would otherwise flood. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  #next = -Infinity;
  #skipped = 0;

  /** @param intervalMs - milliseconds from one time to the next, at least */
  constructor(intervalMs: number, clock: Clock = systemClock) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  /**
   * Whether it is time now; when it is, the next interval begins.
   *
   * @returns how often the answer was no since the last time, or undefined when it is not time
   */
  ready(): { readonly skipped: number } | undefined {
    const now = this.#clock.monotonic();
    if (now < this.#next) {
      this.#skipped++;
      return undefined;
    }
    this.#next = now + this.#intervalMs;
    const skipped = this.#skipped;
    this.#skipped = 0;
    return { skipped };
  }
}
