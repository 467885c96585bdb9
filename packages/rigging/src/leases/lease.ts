import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { isMarinError, MarinError } from "@marin/ducky";
import { ownIdentity } from "../process-identity.js";
import { createStorage } from "../storage/create.js";
import type { Storage } from "../storage/storage.js";
import { type Clock, systemClock } from "../time/clock.js";
import { backoff } from "../time/retry.js";
import { decodeRecord, encodeRecord, isOver, type LeaseRecord } from "./record.js";

/** Settings of {@link withLease}. */
export interface LeaseOptions {
  /** Where the path lies. Default: `createStorage()`. The store must have conditional writes. */
  readonly storage?: Storage;
  /** How long others wait after the last refresh that they have seen before they take over, in milliseconds. Default 90,000. */
  readonly ttlMs?: number;
  /** How often it is refreshed, in milliseconds. Default: a third of `ttlMs`. */
  readonly refreshMs?: number;
  /** How long to wait for whoever holds it, in milliseconds. Default: until the signal aborts; 0 does not wait. */
  readonly timeoutMs?: number;
  /** Ends the wait, and aborts the work. Default: never. */
  readonly signal?: AbortSignal | undefined;
  /** Who this is, for people. Default: host and process id. */
  readonly holder?: string;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** A lease that this process holds. */
export interface Lease extends AsyncDisposable {
  /** Its object. */
  readonly path: string;
  /** The term's number, higher than every earlier one's: what is written under the lease carries it, see {@link writeFenced}. */
  readonly token: number;
  /** Aborts when the lease is lost, with a MarinError RIGGING_LEASE_LOST, or with the caller's signal. */
  readonly signal: AbortSignal;
  /**
   * Gives it back. A second call does nothing.
   *
   * @throws MarinError RIGGING_LEASE_LOST when it was another's already
   */
  release(): Promise<void>;
}

/**
 * Takes the lease at a path: of all processes on all machines that ask, one has it at a time. It is refreshed until it is released. Whoever waits
 * takes it over when it is given back, when its process is gone from this machine, or when it was not refreshed for its `ttlMs` by the waiter's own
 * clock: clocks of different machines are never compared.
 *
 * A process that stood still, or was cut off, learns too late that its term is over. Its signal is aborted before another may begin, as
 * far as it runs at all; what it still writes is refused when it is written by {@link writeFenced}.
 *
 * @param path - an object that nothing else uses
 * @throws MarinError RIGGING_LEASE_HELD when the wait is over (`data.holder`), RIGGING_BAD_LEASE, RIGGING_BAD_OPTION, RIGGING_UNSUPPORTED; errors of the storage
 */
export async function acquireLease(path: string, options: LeaseOptions = {}): Promise<Lease> {
  const { storage = createStorage(), ttlMs = 90_000, timeoutMs = Infinity, signal, clock = systemClock } = options;
  const refreshMs = options.refreshMs ?? ttlMs / 3;
  if (!(ttlMs > 0 && refreshMs > 0 && refreshMs < ttlMs)) {
    throw new MarinError("RIGGING_BAD_OPTION", `The lease ${path}: ttlMs (${String(ttlMs)}) must be over 0, and refreshMs (${String(refreshMs)}) between 0 and it.`, { data: { option: "refreshMs", ttlMs, refreshMs } });
  }
  const giveUpAt = clock.monotonic() + timeoutMs;
  const waits = backoff({ initialMs: 50, maxMs: 1000 });
  let seen: { readonly version: string; readonly since: number } | undefined;
  for (;;) {
    signal?.throwIfAborted();
    const found = await storage.readVersioned(path, { signal });
    const record = found === undefined ? undefined : decodeRecord(path, found.content);
    const now = clock.monotonic();
    if (found !== undefined && seen?.version !== found.version) seen = { version: found.version, since: now };
    const isStale = record !== undefined && seen !== undefined && now - seen.since >= record.ttlMs;
    if (record === undefined || isStale || isOver(record)) {
      const own: LeaseRecord = {
        token: (record?.token ?? 0) + 1,
        term: randomUUID(),
        owner: ownIdentity(),
        holder: options.holder ?? `process ${String(process.pid)} on ${hostname()}`,
        ttlMs,
        refreshes: 0,
        released: false,
      };
      const version = await written(storage, path, own, found?.version, signal);
      if (version !== undefined) return new HeldLease({ path, storage, clock, refreshMs, signal }, own, { version, since: now });
      continue;
    }
    if (now >= giveUpAt) {
      throw new MarinError("RIGGING_LEASE_HELD", `The lease ${path} is held by ${record.holder}: wait for it, or stop it; it is free ${String(record.ttlMs)} ms after its last refresh.`, { data: { path, holder: record.holder, token: record.token, ttlMs: record.ttlMs } });
    }
    // Short leases and short waits are looked at often, long ones every second.
    await clock.sleep(Math.min(waits.next().value, Math.max(20, record.ttlMs / 10), Math.max(1, giveUpAt - now)), signal);
  }
}

/**
 * Does work under a lease, and gives the lease back.
 *
 * @param path - an object that nothing else uses
 * @param work - gets a signal that aborts when the lease is lost, and the term's token for {@link writeFenced}. It is waited for even when it does not heed the signal
 * @throws MarinError RIGGING_LEASE_LOST when the lease was lost before the work was done, whatever the work gave; else what the work throws, and errors of {@link acquireLease}
 */
export async function withLease<T>(path: string, work: (signal: AbortSignal, token: number) => Promise<T>, options: LeaseOptions = {}): Promise<T> {
  const lease = await acquireLease(path, options);
  let done: { readonly value: T } | { readonly error: unknown };
  try {
    done = { value: await work(lease.signal, lease.token) };
  } catch (error) {
    done = { error };
  }
  await lease.release().catch((error: unknown) => {
    // A lost lease outweighs what the work says; a store that cannot be reached does not, the lease ends by itself.
    if (isMarinError(error, "RIGGING_LEASE_LOST")) done = { error };
  });
  if ("error" in done) throw done.error;
  return done.value;
}

/**
 * Writes a record over the version that was read; undefined when another was faster. A refusal may be the work of this very record, written by a
 * try whose answer was lost: what is there tells.
 */
async function written(storage: Storage, path: string, record: LeaseRecord, version: string | undefined, signal: AbortSignal | undefined): Promise<string | undefined> {
  try {
    return await storage.writeIf(path, encodeRecord(record), { version, signal });
  } catch (error) {
    if (!isMarinError(error) || (error.code !== "RIGGING_CHANGED" && error.data["mayHaveBeenWritten"] !== true)) throw error;
    const found = await storage.readVersioned(path, { signal });
    if (found === undefined) return undefined;
    const there = decodeRecord(path, found.content);
    if (there.term === record.term && there.refreshes === record.refreshes) return found.version;
    if (error.code === "RIGGING_CHANGED" || found.version !== version) return undefined;
    throw error;
  }
}

interface LeasePlace {
  readonly path: string;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly refreshMs: number;
  readonly signal: AbortSignal | undefined;
}

class HeldLease implements Lease {
  readonly path: string;
  readonly token: number;
  readonly signal: AbortSignal;
  readonly #place: LeasePlace;
  readonly #lost = new AbortController();
  /** Ends the refreshing; the term is still watched. */
  readonly #stop = new AbortController();
  readonly #closed = new AbortController();
  readonly #refreshing: Promise<void>;
  #record: LeaseRecord;
  /** The version of the last refresh, and when that refresh began. */
  #last: { readonly version: string; readonly since: number };
  #released: Promise<void> | undefined;

  constructor(place: LeasePlace, record: LeaseRecord, last: { readonly version: string; readonly since: number }) {
    this.path = place.path;
    this.token = record.token;
    this.#place = place;
    this.#record = record;
    this.#last = last;
    this.signal = place.signal === undefined ? this.#lost.signal : AbortSignal.any([this.#lost.signal, place.signal]);
    this.#refreshing = this.#refresh();
    void this.#watch();
  }

  release(): Promise<void> {
    return (this.#released ??= this.#giveBack());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  async #giveBack(): Promise<void> {
    this.#stop.abort();
    // A store that never answers must not hold up whoever has lost the lease.
    const lost = new Promise<void>((resolve) => {
      if (this.#lost.signal.aborted) resolve();
      this.#lost.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    try {
      await Promise.race([this.#refreshing.then(() => this.#writeReleased()), lost]);
      this.#lost.signal.throwIfAborted();
    } finally {
      this.#closed.abort();
    }
  }

  async #writeReleased(): Promise<void> {
    if (this.#lost.signal.aborted) return;
    const { path, storage } = this.#place;
    const record = { ...this.#record, refreshes: this.#record.refreshes + 1, released: true };
    const version = await written(storage, path, record, this.#last.version, this.#lost.signal);
    if (version === undefined) this.#lose("another has taken it over");
  }

  /** Refreshes until it is released or lost. */
  async #refresh(): Promise<void> {
    const { path, storage, clock, refreshMs } = this.#place;
    const stop = AbortSignal.any([this.#stop.signal, this.#lost.signal]);
    let waitMs = refreshMs;
    // When the record that is being written was first sent: from then on others may have seen it.
    let since: number | undefined;
    while (!stop.aborted) {
      await clock.sleep(waitMs, stop).catch(() => undefined);
      if (stop.aborted) return;
      const now = clock.monotonic();
      since ??= now;
      if (now >= this.#ownEnd) return this.#lose("it was not refreshed in time");
      const record = { ...this.#record, refreshes: this.#record.refreshes + 1 };
      try {
        // A refresh that is under way is finished: given up, nobody would know which version is there.
        const version = await written(storage, path, record, this.#last.version, this.#lost.signal);
        if (version === undefined) return this.#lose("another has taken it over, or its object is gone");
        this.#record = record;
        this.#last = { version, since };
        since = undefined;
        waitMs = refreshMs;
      } catch (error) {
        // The store may be reached again before the term ends.
        if (isMarinError(error, "RIGGING_BAD_LEASE")) return this.#lose("its object was overwritten");
        waitMs = refreshMs / 4;
      }
    }
  }

  /** Ends the term in time when no refresh comes through. */
  async #watch(): Promise<void> {
    const { clock } = this.#place;
    const stop = AbortSignal.any([this.#closed.signal, this.#lost.signal]);
    while (!stop.aborted) {
      const leftMs = this.#ownEnd - clock.monotonic();
      if (leftMs <= 0) return this.#lose("it was not refreshed in time");
      await clock.sleep(leftMs, stop).catch(() => undefined);
    }
  }

  /** A tenth before others may think so, the term is over here. */
  get #ownEnd(): number {
    return this.#last.since + this.#record.ttlMs * 0.9;
  }

  #lose(why: string): void {
    this.#lost.abort(this.#loss(why));
  }

  #loss(why: string): MarinError {
    return new MarinError("RIGGING_LEASE_LOST", `The lease ${this.path} (term ${String(this.token)}) is lost: ${why}. What was done under it since may have been done by another as well.`, { data: { path: this.path, token: this.token } });
  }
}
