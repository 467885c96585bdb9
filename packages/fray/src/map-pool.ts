import { MarinError } from "@marin/ducky";

/** What a task of {@link mapPool} is told. */
export interface PoolTask {
  /** Place of the item, from 0 up. */
  readonly index: number;
  /** Aborted when the result is no longer wanted: another task failed, the consumer left, the outer signal was aborted. */
  readonly signal: AbortSignal;
}

/** Settings of {@link mapPool}. */
export interface PoolOptions {
  /** Ends the iteration, with the signal's reason as its error, when aborted. Default: never. */
  readonly signal?: AbortSignal;
  /** Whether results come in the order of the items (else as they are ready, the first failure at once). Default: true. */
  readonly ordered?: boolean;
}

interface Running<U> {
  readonly finished: Promise<void>;
  outcome?: { readonly value: U } | { readonly error: unknown };
}

/**
 * Maps items through an asynchronous function, up to `concurrency` of them at a time, and gives the results in the order
 * of the items, or with `ordered: false` as they are ready. Items are taken from the source only when there is room: results that wait for the consumer or for an
 * earlier one count as being worked on, so memory is bounded.
 *
 * The first failure, in the order of the items, is thrown after all results before it; once a task has failed no further
 * ones start. However the iteration ends, tasks still running get their signal aborted and are waited for, and the source is closed.
 *
 * @param items - the source
 * @param concurrency - at least 1
 * @param work - the function; should stop on its signal
 * @throws MarinError FRAY_BAD_CONCURRENCY; what a task or the source throws, unchanged; the outer signal's reason
 */
export async function* mapPool<T, U>(
  items: Iterable<T> | AsyncIterable<T>,
  concurrency: number,
  work: (item: T, task: PoolTask) => U | PromiseLike<U>,
  options: PoolOptions = {},
): AsyncGenerator<U, void, void> {
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new MarinError("FRAY_BAD_CONCURRENCY", `concurrency is a whole number of at least 1, found ${String(concurrency)}.`, { data: { concurrency } });
  }
  const { signal: outer, ordered = true } = options;
  outer?.throwIfAborted();
  const controller = new AbortController();
  const signal = outer === undefined ? controller.signal : AbortSignal.any([controller.signal, outer]);
  const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const window: Running<U>[] = [];
  let nextIndex = 0;
  let sourceEnded = false;
  let stopped = false;
  let sourceFailure: { readonly error: unknown } | undefined;
  let pulling: Promise<void> | undefined;
  /** One waiter for whatever happens next: racing the tasks' promises would add to those that stay pending with each result. */
  let wake: () => void = () => undefined;
  const onAbort = (): void => wake();
  outer?.addEventListener("abort", onAbort, { once: true });

  const start = (item: T): Running<U> => {
    const index = nextIndex++;
    const run = async (): Promise<U> => work(item, { index, signal });
    const running: Running<U> = {
      finished: run().then(
        (value) => {
          running.outcome = { value };
          wake();
        },
        (error: unknown) => {
          running.outcome = { error };
          stopped = true;
          wake();
        },
      ),
    };
    return running;
  };

  /** Takes items while there is room, without waiting for the consumer. */
  const pull = (): void => {
    if (pulling !== undefined || sourceEnded || stopped || window.length >= concurrency) return;
    pulling = (async () => source.next())().then(
      (result) => {
        pulling = undefined;
        if (result.done === true) sourceEnded = true;
        else if (!stopped) window.push(start(result.value));
        pull();
        wake();
      },
      (error: unknown) => {
        pulling = undefined;
        sourceEnded = true;
        sourceFailure = { error };
        wake();
      },
    );
  };

  try {
    for (;;) {
      outer?.throwIfAborted();
      pull();
      const place = ordered ? 0 : Math.max(0, window.findIndex(({ outcome }) => outcome !== undefined));
      const head = window[place];
      if (head?.outcome === undefined) {
        if (head === undefined && pulling === undefined) break;
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      if ("error" in head.outcome) throw head.outcome.error;
      window.splice(place, 1);
      pull();
      yield head.outcome.value;
    }
    if (sourceFailure !== undefined) throw sourceFailure.error;
  } finally {
    stopped = true;
    outer?.removeEventListener("abort", onAbort);
    controller.abort(new MarinError("FRAY_CANCELLED", "The result is no longer wanted: the iteration has ended."));
    await Promise.all(window.map(({ finished }) => finished));
    await close(source, sourceEnded, pulling !== undefined);
  }
}

/** A source that is still asked for an item answers the closing only after it: that is not waited for. */
async function close(source: Iterator<unknown> | AsyncIterator<unknown>, ended: boolean, busy: boolean): Promise<void> {
  if (ended) return;
  const closing = (async () => source.return?.())().catch(() => undefined);
  if (!busy) await closing;
}
