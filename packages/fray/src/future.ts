import { MarinError } from "@marin/ducky";

/** Where a {@link Future} stands. */
export type FutureState = "pending" | "fulfilled" | "rejected" | "cancelled";

/** Settings of {@link Future.run}. */
export interface FutureOptions {
  /** Cancels the future when aborted. Default: never. */
  readonly signal?: AbortSignal;
}

/**
 * The result of work under way, which can be awaited like a promise and cancelled by whoever waits for it. A cancelled
 * future rejects at once with MarinError FRAY_CANCELLED (its `cause` is the reason given); the work learns of it through
 * its signal, and what it still returns or throws is dropped.
 */
export class Future<T> implements PromiseLike<T> {
  readonly #promise: Promise<T>;
  readonly #onCancel: (reason: unknown) => void;
  #state: FutureState = "pending";
  #fulfil: (value: T) => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;
  #detach: (() => void) | undefined;

  private constructor(onCancel: (reason: unknown) => void) {
    this.#onCancel = onCancel;
    this.#promise = new Promise<T>((resolve, reject) => {
      this.#fulfil = resolve;
      this.#reject = reject;
    });
  }

  /**
   * Starts a task and gives the future of its result. What the task throws comes through unchanged; a thrown value that is
   * no Error becomes the cause of a MarinError FRAY_THROWN_VALUE. The task starts at once, unless the signal is aborted already.
   *
   * @param task - gets a signal that is aborted when the future is cancelled: it should stop then
   * @param options - an outer signal
   */
  static run<T>(task: (signal: AbortSignal) => T | PromiseLike<T>, options: FutureOptions = {}): Future<T> {
    const controller = new AbortController();
    const { future, fulfil, reject } = Future.withResolvers<T>((reason) => controller.abort(reason), options);
    if (future.state !== "pending") return future;
    const run = async (): Promise<T> => task(controller.signal);
    run().then(fulfil, reject);
    return future;
  }

  /**
   * A future and the functions that settle it, like `Promise.withResolvers`: for work that is no promise.
   *
   * @param onCancel - called once with the reason (an error) when the future is cancelled
   * @param options - an outer signal; where it is aborted already the future is cancelled, and `onCancel` was called
   */
  static withResolvers<T>(onCancel: (reason: unknown) => void, options: FutureOptions = {}): { readonly future: Future<T>; readonly fulfil: (value: T) => void; readonly reject: (error: unknown) => void } {
    const future = new Future<T>(onCancel);
    if (options.signal !== undefined) future.#follow(options.signal);
    return {
      future,
      fulfil: (value) => {
        if (future.#settle("fulfilled")) future.#fulfil(value);
      },
      reject: (error) => {
        if (future.#settle("rejected")) future.#reject(asError(error));
      },
    };
  }

  /** Where it stands. */
  get state(): FutureState {
    return this.#state;
  }

  /**
   * Cancels the work. Nobody needs to wait for a cancelled future. Does nothing once it is settled.
   *
   * @param reason - why; becomes the error's `cause` and the reason of the work's signal
   * @returns whether this call cancelled it
   */
  cancel(reason?: unknown): boolean {
    if (!this.#settle("cancelled")) return false;
    const why = reason instanceof Error ? `: ${reason.message}` : typeof reason === "string" ? `: ${reason}` : "";
    const error = new MarinError("FRAY_CANCELLED", `The work was cancelled${why}.`, reason === undefined ? {} : { cause: reason });
    this.#promise.catch(() => undefined);
    this.#reject(error);
    this.#onCancel(reason ?? error);
    return true;
  }

  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#promise.then(onFulfilled, onRejected);
  }

  /** Leaves "pending"; false when that happened before. */
  #settle(state: FutureState): boolean {
    if (this.#state !== "pending") return false;
    this.#state = state;
    this.#detach?.();
    return true;
  }

  #follow(outer: AbortSignal): void {
    if (outer.aborted) {
      this.cancel(outer.reason);
      return;
    }
    const onAbort = (): void => void this.cancel(outer.reason);
    outer.addEventListener("abort", onAbort, { once: true });
    this.#detach = (): void => outer.removeEventListener("abort", onAbort);
  }
}

function asError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new MarinError("FRAY_THROWN_VALUE", "A task threw a value that is no Error; it is this error's cause.", { cause: thrown });
}
