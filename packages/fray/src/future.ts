import { MarinError } from "@marin/ducky";

/** Where a {@link Future} stands. */
export type FutureState = "pending" | "fulfilled" | "rejected" | "cancelled";

/** Settings of {@link Future.run}. */
export interface FutureOptions {
  /** Cancels the future when aborted. Default: never. */
  readonly signal?: AbortSignal;
}

/** Told, once, that a future was cancelled. */
interface Cancellable {
  cancel(reason: unknown): void;
}

/** Settles a future. For this package: what is a function here costs less than one made for each future. */
let settle: {
  fulfil<T>(future: Future<T>, value: T): void;
  reject<T>(future: Future<T>, error: unknown): void;
  make<T>(work: Cancellable, signal: AbortSignal | undefined): Future<T>;
};

/** What the executor of the promise that is being made was given. */
let resolvers: readonly [resolve: (value: never) => void, reject: (error: Error) => void];
const takeResolvers = (resolve: (value: never) => void, reject: (error: Error) => void): void => {
  resolvers = [resolve, reject];
};

/**
 * The result of work under way, which can be awaited like a promise and cancelled by whoever waits for it. A cancelled
 * future rejects at once with MarinError FRAY_CANCELLED (its `cause` is the reason given); the work learns of it through
 * its signal, and what it still returns or throws is dropped.
 */
export class Future<T> implements Promise<T> {
  readonly #promise: Promise<T>;
  readonly #work: Cancellable;
  readonly #fulfil: (value: T) => void;
  readonly #reject: (error: Error) => void;
  #state: FutureState = "pending";
  #detach: (() => void) | undefined;

  static {
    settle = {
      fulfil: (future, value) => {
        if (future.#settle("fulfilled")) future.#fulfil(value);
      },
      reject: (future, error) => {
        if (future.#settle("rejected")) future.#reject(asError(error));
      },
      make: <M>(work: Cancellable, signal: AbortSignal | undefined) => {
        const future = new Future<M>(work);
        if (signal !== undefined) future.#follow(signal);
        return future;
      },
    };
  }

  private constructor(work: Cancellable) {
    this.#work = work;
    this.#promise = new Promise<T>(takeResolvers);
    [this.#fulfil, this.#reject] = resolvers as readonly [(value: T) => void, (error: Error) => void];
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
    const future = settle.make<T>(
      {
        cancel: (reason) => {
          controller.abort(reason);
        },
      },
      options.signal,
    );
    if (future.state !== "pending") return future;
    const run = async (): Promise<T> => task(controller.signal);
    run().then(
      (value) => {
        settle.fulfil(future, value);
      },
      (error: unknown) => {
        settle.reject(future, error);
      },
    );
    return future;
  }

  get [Symbol.toStringTag](): string {
    return "Future";
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
    this.#work.cancel(reason ?? error);
    return true;
  }

  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#promise.then(onFulfilled, onRejected);
  }

  /** Takes the error, as a promise's does. */
  catch<B = never>(onRejected?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.#promise.catch(onRejected);
  }

  /** Is told of the end, whichever it is, as a promise's is. */
  finally(onFinally?: (() => void) | null): Promise<T> {
    return this.#promise.finally(onFinally);
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

/** Work that is no promise, and the future that it settles. */
export abstract class FutureWork<T> {
  readonly future: Future<T>;

  /** @param signal - cancels the future when aborted; where it is aborted already, {@link cancel} has been called when this returns */
  constructor(signal?: AbortSignal) {
    this.future = settle.make<T>(this, signal);
  }

  protected fulfil(value: T): void {
    settle.fulfil(this.future, value);
  }

  protected reject(error: unknown): void {
    settle.reject(this.future, error);
  }

  /** Called once when the future is cancelled. */
  abstract cancel(reason: unknown): void;
}
