import { MarinError } from "@marin/ducky";
import { backoff } from "../time/retry.js";
import { type Clock, systemClock } from "../time/clock.js";
import { notThatVersion } from "./changed.js";
import type { Range } from "./range.js";
import { mayPass } from "./remote-error.js";

/** A body that a server has begun to send. */
export interface OpenedBody {
  /** The bytes, as they come. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Which content it is, where the server says so. */
  readonly version: string | undefined;
  /** How many bytes the server has promised, where it says so. */
  readonly bytes: number | undefined;
}

/** How to read a range of an object that a server sends. */
export interface ResumedRead {
  /** For messages. */
  readonly path: string;
  /** What to read. */
  readonly range: Range;
  /** The version that it has to be. */
  readonly version: string | undefined;
  /** How often to go on after an interruption without any progress. */
  readonly maxRetries: number;
  /** How long to wait for the next bytes, in milliseconds, before that counts as an interruption. */
  readonly stallMs: number;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
  /** Asks for a range. It tries again by itself; its errors are final. The signal aborts the body too. Undefined: the range begins behind the end. */
  readonly open: (range: Range, version: string | undefined, signal: AbortSignal) => Promise<OpenedBody | undefined>;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * The bytes of a range. After an interruption (a lost connection, an early end, no bytes for too long) the rest is asked for, of the same
 * version: an object that has changed in between is an error, never a mixture.
 *
 * @throws MarinError RIGGING_CHANGED, RIGGING_STORAGE_UNAVAILABLE; what `open` and the body throw
 */
export async function* resumed(read: ResumedRead): AsyncGenerator<Uint8Array> {
  const { path, range, maxRetries, signal, clock = systemClock } = read;
  let at = range.start;
  let version = read.version;
  let waits = backoff();
  for (let failures = 0; ; failures += 1) {
    const stop = new AbortController();
    const stopBoth = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
    let iterator: AsyncIterator<Uint8Array> | undefined;
    try {
      const opened = await withinTime(read.open({ start: at, end: range.end }, version, stopBoth), { path, stallMs: read.stallMs, stop });
      if (opened === undefined) return;
      if (version !== undefined && opened.version !== undefined && opened.version !== version) throw notThatVersion(path, { expected: version, found: opened.version });
      version ??= opened.version;
      const promisedEnd = opened.bytes === undefined ? undefined : at + opened.bytes;
      iterator = opened.chunks[Symbol.asyncIterator]();
      for (;;) {
        const next = await withinTime(iterator.next(), { path, stallMs: read.stallMs, stop });
        if (next.done === true) break;
        at += next.value.length;
        failures = 0;
        waits = backoff();
        yield next.value;
        signal?.throwIfAborted();
      }
      if (promisedEnd === undefined || at === promisedEnd) return;
      throw interrupted(path, `the connection ended after ${String(at - range.start)} of ${String(promisedEnd - range.start)} bytes`);
    } catch (error) {
      signal?.throwIfAborted();
      // An error before the answer's head is final: asking was tried again already.
      if (failures >= maxRetries || !(isInterruption(error) || (iterator !== undefined && mayPass(error)))) throw error;
      await clock.sleep(waits.next().value, signal);
    } finally {
      stop.abort();
      // A body that hangs must not be waited for.
      void iterator?.return?.().catch(() => undefined);
    }
  }
}

function withinTime<T>(next: Promise<T>, { path, stallMs, stop }: { readonly path: string; readonly stallMs: number; readonly stop: AbortController }): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const error = interrupted(path, `no byte has come for ${String(stallMs)} ms`);
      reject(error);
      stop.abort(error);
    }, stallMs);
    next.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function interrupted(path: string, why: string): MarinError {
  return new MarinError("RIGGING_STORAGE_UNAVAILABLE", `Cannot read ${path}: ${why}.`, { data: { path, interrupted: true } });
}

function isInterruption(error: unknown): boolean {
  return error instanceof MarinError && error.data["interrupted"] === true;
}
