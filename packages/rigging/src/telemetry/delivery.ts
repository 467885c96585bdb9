import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../time/clock.js";
import { Deadline } from "../time/deadline.js";
import { type BackoffOptions, retry } from "../time/retry.js";

/** Something to be delivered. */
export interface DeliveryItem<T> {
  /** Only items of one kind travel together. */
  readonly kind: string;
  /** How many records it stands for. */
  readonly records: number;
  /** About how large it is, in bytes. */
  readonly bytes: number;
  readonly content: T;
}

/** What one request to the collector came to. */
export type SendResult = "delivered" | "refused" | { readonly retryAfterMs?: number };

/** Sends one batch. Throws, or tells to try again, when that may help. */
export type Send = (kind: string, body: Uint8Array, id: string, signal: AbortSignal) => Promise<SendResult>;

/** Why records were lost. "full": the caps were reached; "refused": the collector does not want them; "unreachable": it could not be reached for too long. */
export type LossReason = "full" | "oversize" | "refused" | "unreachable" | "shutdown" | "broken";

/** Settings of {@link Delivery}. */
export interface DeliveryOptions<T> {
  /** The bytes of a batch; may throw. */
  readonly encode: (kind: string, contents: readonly T[]) => Uint8Array;
  readonly send: Send;
  /** Records that wait or are under way, at most. */
  readonly maxRecords: number;
  /** Their bytes, at most. */
  readonly maxBytes: number;
  /** Records of one batch, at most. */
  readonly batchRecords: number;
  /** Bytes of one batch, at most. */
  readonly batchBytes: number;
  /** How long a batch waits for more, in milliseconds. */
  readonly delayMs: number;
  /** How long a batch is tried for, in milliseconds. */
  readonly retryMs: number;
  readonly backoff?: BackoffOptions;
  readonly clock?: Clock;
  readonly onDelivered?: (kind: string, records: number) => void;
  readonly onLost?: (kind: string, records: number, reason: LossReason) => void;
  readonly onRetry?: () => void;
}

class TryAgain extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(retryAfterMs: number | undefined) {
    super("the collector asks to come again");
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * A bounded queue of records and the one loop that sends them, in batches. Offering neither waits nor throws. A batch is encoded once and has one id, however often
 * it is sent, so that a collector can tell a repetition.
 */
export class Delivery<T> {
  readonly #options: DeliveryOptions<T>;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #queue: DeliveryItem<T>[] = [];
  #records = 0;
  #bytes = 0;
  /** Whoever waits for all that was offered before. */
  #flushes: { readonly after: number; readonly resolve: () => void }[] = [];
  #offered = 0;
  #settled = 0;
  #loop: Promise<void> | undefined;
  #hurry: AbortController | undefined;
  #closed = false;

  constructor(options: DeliveryOptions<T>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Records that wait or are under way. */
  get records(): number {
    return this.#records;
  }

  /** Their bytes, as far as known. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes a record, or drops it when there is no room. */
  offer(item: DeliveryItem<T>): void {
    const { maxRecords, maxBytes, batchBytes } = this.#options;
    if (this.#closed) return this.#lost(item.kind, item.records, "shutdown");
    if (item.bytes > batchBytes) return this.#lost(item.kind, item.records, "oversize");
    if (this.#records + item.records > maxRecords || this.#bytes + item.bytes > maxBytes) return this.#lost(item.kind, item.records, "full");
    this.#queue.push(item);
    this.#records += item.records;
    this.#bytes += item.bytes;
    this.#offered += item.records;
    if (this.#isFull()) this.#hurry?.abort();
    this.#loop ??= this.#run().finally(() => (this.#loop = undefined));
  }

  /** Waits until all that was offered was delivered or lost. */
  async flush(): Promise<void> {
    if (this.#records === 0) return;
    const done = new Promise<void>((resolve) => this.#flushes.push({ after: this.#offered, resolve }));
    this.#hurry?.abort();
    await done;
  }

  /** Sends what is there, for so long at most, and drops the rest. Nothing is taken afterwards. */
  async close(timeoutMs: number): Promise<void> {
    this.#closed = true;
    await Deadline.after(timeoutMs, this.#clock)
      .guard("sending the last telemetry", () => this.flush())
      .catch(() => undefined);
    this.#stop.abort();
    for (const { kind, records, bytes } of this.#queue.splice(0)) this.#settle(kind, records, bytes, "shutdown");
    await this.#loop;
  }

  #isFull(): boolean {
    const { batchRecords, batchBytes } = this.#options;
    return this.#queue.length >= batchRecords || this.#bytes >= batchBytes;
  }

  async #run(): Promise<void> {
    // What is offered now waits for its turn; the offerer does not.
    await Promise.resolve();
    while (this.#queue.length > 0 && !this.#stop.signal.aborted) {
      if (!this.#isFull() && this.#flushes.length === 0) {
        this.#hurry = new AbortController();
        await this.#clock.sleep(this.#options.delayMs, AbortSignal.any([this.#hurry.signal, this.#stop.signal])).catch(() => undefined);
        this.#hurry = undefined;
      }
      if (!this.#stop.signal.aborted) await this.#deliver(this.#takeBatch());
    }
  }

  #takeBatch(): DeliveryItem<T>[] {
    const { batchRecords, batchBytes } = this.#options;
    const [first] = this.#queue;
    let [count, records, bytes] = [0, 0, 0];
    for (const item of this.#queue) {
      if (item.kind !== first?.kind || (count > 0 && (records + item.records > batchRecords || bytes + item.bytes > batchBytes))) break;
      count++;
      records += item.records;
      bytes += item.bytes;
    }
    return this.#queue.splice(0, count);
  }

  async #deliver(items: readonly DeliveryItem<T>[]): Promise<void> {
    const kind = items[0]?.kind ?? "";
    const records = items.reduce((sum, item) => sum + item.records, 0);
    const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
    let body: Uint8Array;
    try {
      body = this.#options.encode(kind, items.map(({ content }) => content));
    } catch {
      return this.#settle(kind, records, bytes, "broken");
    }
    if (body.byteLength > this.#options.batchBytes) {
      // The sizes were guesses. Halves are sent apart; one record that is too large alone is given up.
      if (items.length === 1) return this.#settle(kind, records, bytes, "oversize");
      const middle = Math.ceil(items.length / 2);
      await this.#deliver(items.slice(0, middle));
      if (!this.#stop.signal.aborted) return await this.#deliver(items.slice(middle));
      for (const item of items.slice(middle)) this.#settle(kind, item.records, item.bytes, "shutdown");
      return;
    }
    this.#settle(kind, records, bytes, await this.#send(kind, body));
  }

  async #send(kind: string, body: Uint8Array): Promise<LossReason | undefined> {
    const id = randomUUID();
    const { signal } = this.#stop;
    const attempt = async (): Promise<SendResult> => {
      const result = await untilAborted(this.#options.send(kind, body, id, signal), signal);
      if (typeof result === "object") throw new TryAgain(result.retryAfterMs);
      return result;
    };
    try {
      const result = await retry(attempt, {
        retryIf: () => true,
        attempts: Infinity,
        deadline: Deadline.after(this.#options.retryMs, this.#clock),
        backoff: { initialMs: 250, maxMs: 30_000, ...this.#options.backoff },
        minDelayMs: (error) => (error instanceof TryAgain ? error.retryAfterMs : undefined),
        onRetry: () => this.#options.onRetry?.(),
        signal,
        clock: this.#clock,
      });
      return result === "delivered" ? undefined : "refused";
    } catch {
      return signal.aborted ? "shutdown" : "unreachable";
    }
  }

  #settle(kind: string, records: number, bytes: number, lost: LossReason | undefined): void {
    this.#records -= records;
    this.#bytes -= bytes;
    this.#settled += records;
    if (lost === undefined) this.#options.onDelivered?.(kind, records);
    else this.#lost(kind, records, lost);
    this.#flushes = this.#flushes.filter(({ after, resolve }) => {
      if (this.#settled < after) return true;
      resolve();
      return false;
    });
  }

  #lost(kind: string, records: number, reason: LossReason): void {
    this.#options.onLost?.(kind, records, reason);
  }
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return await Deadline.after(Infinity).guard("sending telemetry", () => work, signal);
}
