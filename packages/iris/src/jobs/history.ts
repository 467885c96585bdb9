/** What is kept of one event. */
interface Kept<T> {
  readonly event: T;
  readonly bytes: number;
}

/** What a reader of a {@link History} is given. */
export type HistoryItem<T> =
  | { readonly kind: "event"; readonly event: T }
  /** The reader has seen all that there was when it came. */
  | { readonly kind: "caught-up" }
  /** Events before the next one are no longer held. */
  | { readonly kind: "missed"; readonly count: number };

/**
 * The events of a job, in order. Readers begin with the first one held and follow until the end, each at its own pace. The oldest are
 * dropped beyond a number and a size; a reader that misses some is told how many.
 */
export class History<T> {
  readonly #maxEvents: number;
  readonly #maxBytes: number;
  #kept: Kept<T>[] = [];
  /** Place of `#kept[0]` among all events ever. */
  #first = 0;
  #bytes = 0;
  #ended = false;
  #wake: (() => void)[] = [];

  /**
   * @param maxEvents - events held
   * @param maxBytes - bytes held, by the sizes given to {@link push}
   */
  constructor(maxEvents = 20_000, maxBytes = 16 * 2 ** 20) {
    this.#maxEvents = maxEvents;
    this.#maxBytes = maxBytes;
  }

  /** Whether there will be no more events. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Adds an event of about that size. */
  push(event: T, bytes: number): void {
    this.#kept.push({ event, bytes });
    this.#bytes += bytes;
    // Trimmed to three quarters, so that cutting the array costs little per event.
    if (this.#kept.length > this.#maxEvents || this.#bytes > this.#maxBytes) this.#trim();
    this.#notify();
  }

  /** Says that there will be no more events. */
  end(): void {
    this.#ended = true;
    this.#notify();
  }

  /** Resolves at the next change; at once when aborted. */
  changed(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const wake = (): void => {
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      signal?.addEventListener("abort", wake, { once: true });
      this.#wake.push(wake);
    });
  }

  /** Place of the first event held among all events ever. */
  get first(): number {
    return this.#first;
  }

  /** Events so far, those included that are no longer held. */
  get count(): number {
    return this.#first + this.#kept.length;
  }

  /**
   * What is held of a stretch of events.
   *
   * @param start - place of the first one wanted, not below {@link first}
   * @param most - how many at most
   */
  slice(start: number, most: number): T[] {
    return this.#kept.slice(start - this.#first, start - this.#first + most).map(({ event }) => event);
  }

  /**
   * The events from the first one held to the end of the job.
   *
   * @param signal - ends the reading with its reason
   */
  async *read(signal?: AbortSignal): AsyncGenerator<HistoryItem<T>, void, void> {
    const upTo = this.#first + this.#kept.length;
    let next = 0;
    let caughtUp = false;
    for (;;) {
      signal?.throwIfAborted();
      if (!caughtUp && next >= upTo) {
        caughtUp = true;
        yield { kind: "caught-up" };
      } else if (next < this.#first) {
        const count = this.#first - next;
        next = this.#first;
        yield { kind: "missed", count };
      } else {
        const kept = this.#kept[next - this.#first];
        if (kept !== undefined) {
          next += 1;
          yield { kind: "event", event: kept.event };
        } else if (this.#ended) {
          return;
        } else {
          await this.changed(signal);
        }
      }
    }
  }

  #trim(): void {
    let drop = 0;
    while (this.#kept.length - drop > this.#maxEvents * 0.75 || (this.#bytes > this.#maxBytes * 0.75 && drop < this.#kept.length - 1)) {
      this.#bytes -= this.#kept[drop]?.bytes ?? 0;
      drop += 1;
    }
    this.#kept = this.#kept.slice(drop);
    this.#first += drop;
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const each of wake) each();
  }
}
