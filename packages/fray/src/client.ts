import type { ActorHandle, ActorRef } from "./actor.js";
import type { ActorGroup } from "./actor-group.js";
import type { Entry } from "./entry.js";
import type { Future } from "./future.js";

/** Settings of {@link Client.submit}. */
export interface SubmitOptions {
  /** Cancels the future when aborted. Default: never. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the future fails with FRAY_TIMEOUT and the function is told to end, waiting for its turn included. Default: none. */
  readonly timeoutMs?: number;
  /** Whether it may be run more than once with the same effect: then it is run again, up to three times, where its worker is lost. Default: false. */
  readonly idempotent?: boolean;
}

/** Settings of {@link Client.createActor}. */
export interface ActorOptions {
  /** Its name: one of a kind among the actors of its client. */
  readonly name: string;
  /** A process of its own, or a thread of this one. */
  readonly kind: "process" | "thread";
  /** Name of a worker to share with other actors of this client that name the same one. It ends, or falls, with all of them. Default: a worker of its own. */
  readonly worker?: string;
  /** Variables for the worker, beside this process's own; those of the first actor in it count. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
  /** How many of its calls run at a time; at least 1. Default: 1, so that calls run in the order in which they were made. */
  readonly maxConcurrency?: number;
  /** How many calls may wait for their turn; further ones are refused with FRAY_MAILBOX_FULL. Default: 10 000. */
  readonly mailboxLimit?: number;
  /** How often it is made anew after its worker was lost; `Infinity` for always. Default: 0. */
  readonly restarts?: number;
  /** Milliseconds before a restart; twice as long after each that fails, up to 10 s. Default: 100. */
  readonly restartDelayMs?: number;
  /** An actor that has a method named `actorSnapshot` is asked for its state after so many calls. Default: 1. */
  readonly snapshotEvery?: number;
  /** Takes each line of its worker's standard output. Default: this process's standard output. */
  readonly onStdout?: (line: string) => void;
  /** Takes each line of its worker's standard error. Default: this process's standard error. */
  readonly onStderr?: (line: string) => void;
}

/** Settings of {@link Client.createActorGroup}. */
export interface ActorGroupOptions extends ActorOptions {
  /** How many; at least 1. Each actor's name is the group's and its place: "shards-0". */
  readonly count: number;
}

/** Settings of {@link Client.hostActor}. */
export interface HostActorOptions extends Pick<ActorOptions, "name" | "maxConcurrency" | "mailboxLimit"> {
  /** What its handles show; 1 more than the one before where it takes an earlier one's place. Default: 1. */
  readonly incarnation?: number;
}

/** Settings of {@link Client.getActor}. */
export interface GetActorOptions {
  /** Milliseconds until it fails with FRAY_ACTOR_UNAVAILABLE. Default: 10 000. */
  readonly timeoutMs?: number;
  /** Ends the attempt when aborted. Default: never. */
  readonly signal?: AbortSignal;
}

/**
 * Runs functions and actors somewhere: on this machine (`LocalClient`), or on a cluster. Whoever writes one runs the cases
 * of `@marin/fray/conformance` against it.
 */
export interface Client extends AsyncDisposable {
  /**
   * Runs an exported function in a worker and gives the future of what it returns. Where all workers are busy it waits for its turn.
   *
   * The future fails with what the function throws (class name, code, data, causes survive), or with MarinError FRAY_WORKER_LOST,
   * FRAY_TIMEOUT, FRAY_NOT_CLONABLE, FRAY_ENTRY_IMPORT, FRAY_ENTRY_MISSING, FRAY_CANCELLED, FRAY_CLIENT_CLOSED.
   *
   * @param work - `entry<typeof tokenize>(import.meta.url, "tokenize")`
   * @param args - its arguments, by the rules of structured clone
   */
  submit<A extends unknown[], R>(work: Entry<A, R>, args: A, options?: SubmitOptions): Future<R>;

  /**
   * Makes an object in a worker. Its methods run in the order of the calls, `maxConcurrency` at a time, each at most once: a call that fails because the
   * worker was lost is not made again, unless it was said to be `idempotent`. Between two items of a generator other calls have their turn.
   *
   * Besides what they throw, methods fail with MarinError FRAY_ACTOR_UNAVAILABLE (`data.state`: "restarting", "dead", "stopped", "unreachable"; `data.ran`: "no", or "unknown" where the
   * method may have been run), FRAY_TIMEOUT, FRAY_MAILBOX_FULL, FRAY_CANCELLED, FRAY_NOT_CLONABLE, FRAY_NOT_TRANSFERABLE.
   *
   * @param made - `entry<typeof Counter>(import.meta.url, "Counter")`: an exported class, or function that makes the object
   * @param args - of the constructor or function
   * @throws MarinError FRAY_BAD_ACTOR, FRAY_BAD_OPTION, FRAY_DUPLICATE_ACTOR, FRAY_WORKER_LOST, FRAY_CLIENT_CLOSED; what the constructor throws
   */
  createActor<T, A extends unknown[] = unknown[]>(made: Entry<A, T>, args: A, options: ActorOptions): Promise<ActorHandle<T>>;

  /**
   * Makes several actors of one kind at once. `currentCall().actor` tells each its place.
   *
   * @param args - of each constructor, or a function of the place that gives them
   * @throws MarinError FRAY_BAD_OPTION, FRAY_CLIENT_CLOSED; what goes wrong later is told by the group
   */
  createActorGroup<T, A extends unknown[] = unknown[]>(made: Entry<A, T>, args: A | ((index: number) => A), options: ActorGroupOptions): ActorGroup<T>;

  /**
   * Offers an object of this process as an actor, under the same rules: calls wait for their turn, and arguments and results are copies.
   *
   * @throws MarinError FRAY_BAD_ACTOR, FRAY_DUPLICATE_ACTOR, FRAY_CLIENT_CLOSED
   */
  hostActor<T extends object>(instance: T, options: HostActorOptions): Promise<ActorHandle<T>>;

  /**
   * The handle of an actor elsewhere. It finds its way again after the connection was lost: at-most-once calls made meanwhile
   * try to connect once.
   *
   * @param ref - its name and address: a handle's `actor.ref()`, or what `JSON.parse` gives of a handle
   * @throws MarinError FRAY_ACTOR_UNAVAILABLE, FRAY_UNKNOWN_ACTOR, FRAY_NO_TRANSPORT, FRAY_CLIENT_CLOSED
   */
  getActor<T>(ref: ActorRef, options?: GetActorOptions): Promise<ActorHandle<T>>;

  /** Stops all it has started, actors and functions, and listens no longer. */
  shutdown(options?: { readonly graceMs?: number }): Promise<void>;
}
