import { MarinError } from "@marin/ducky";
import type { ActorHandle } from "./actor.js";

/** Settings of {@link ActorGroup.waitReady}. */
export interface WaitReadyOptions {
  /** How many must be ready. Default: all. */
  readonly count?: number;
  /** Milliseconds until it fails with FRAY_TIMEOUT. Default: none. */
  readonly timeoutMs?: number;
  /** Ends the wait when aborted. Default: never. */
  readonly signal?: AbortSignal;
}

/** An actor of a group. */
export interface GroupMember<T> {
  /** Its place, from 0 up. */
  readonly index: number;
  readonly handle: ActorHandle<T>;
}

/** Several actors of one kind. Made by `Client.createActorGroup`; implementers of a client make it themselves. */
export class ActorGroup<T> implements AsyncDisposable {
  readonly name: string;
  /** How many there are, ready or not. */
  readonly size: number;
  readonly #ready: GroupMember<T>[] = [];
  readonly #starting: readonly Promise<ActorHandle<T>>[];
  readonly #watchers = new Set<() => void>();
  #failure: { readonly error: unknown } | undefined;
  #settled = 0;
  #turn = 0;

  /**
   * @param name - of the group
   * @param starting - one promise for each actor, in the order of their places
   */
  constructor(name: string, starting: readonly Promise<ActorHandle<T>>[]) {
    this.name = name;
    this.size = starting.length;
    this.#starting = starting;
    starting.forEach((promise, index) => {
      promise.then(
        (handle) => {
          this.#ready.push({ index, handle });
          this.#changed();
        },
        (error: unknown) => {
          this.#failure ??= { error };
          this.#changed();
        },
      );
    });
  }

  /** How many can take calls, or could once. */
  get readyCount(): number {
    return this.#ready.length;
  }

  /** Those that are ready, by their places. */
  get handles(): readonly ActorHandle<T>[] {
    return [...this.#ready].sort((a, b) => a.index - b.index).map(({ handle }) => handle);
  }

  /**
   * Waits for actors, and gives all that are ready, by their places. Fails as soon as one could not be made.
   *
   * @throws what the constructor of one throws; MarinError FRAY_TIMEOUT naming how many were ready; FRAY_BAD_OPTION; the signal's reason
   */
  async waitReady({ count = this.size, timeoutMs, signal }: WaitReadyOptions = {}): Promise<readonly ActorHandle<T>[]> {
    if (!Number.isSafeInteger(count) || count < 0 || count > this.size) {
      throw new MarinError("FRAY_BAD_OPTION", `The group "${this.name}" has ${this.size} actors: count must be a whole number of at most that, found ${count}.`, { data: { group: this.name, count, size: this.size } });
    }
    const timer = new AbortController();
    const timeout = timeoutMs === undefined ? undefined : setTimeout(() => timer.abort(this.#late(count, timeoutMs)), timeoutMs);
    const ends = signal === undefined ? timer.signal : AbortSignal.any([signal, timer.signal]);
    try {
      for (;;) {
        if (this.#failure !== undefined) throw this.#failure.error;
        if (this.#ready.length >= count) return this.handles;
        ends.throwIfAborted();
        await this.#change(ends);
      }
    } finally {
      clearTimeout(timeout);
    }
  }

  /**
   * The actors as they become ready, those that are first. Ends with the last one.
   *
   * @throws what the constructor of one throws; the signal's reason
   */
  async *discoverNew({ signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<GroupMember<T>, void, void> {
    for (let given = 0; ; given += 1) {
      while (this.#ready.length <= given) {
        signal?.throwIfAborted();
        if (this.#failure !== undefined) throw this.#failure.error;
        if (this.#settled === this.size) return;
        await this.#change(signal);
      }
      yield this.#ready[given] as GroupMember<T>;
    }
  }

  /**
   * Calls each actor that is ready, all at once, and gives the answers by their places: `group.broadcast((actor) => actor.load(epoch))`. Fails with
   * the first failure, once all have answered.
   */
  async broadcast<R>(call: (actor: ActorHandle<T>, index: number) => PromiseLike<R>): Promise<R[]> {
    const members = [...this.#ready].sort((a, b) => a.index - b.index);
    const answers = await Promise.allSettled(members.map(async ({ handle, index }) => call(handle, index)));
    return answers.map((answer) => {
      if (answer.status === "rejected") throw answer.reason;
      return answer.value;
    });
  }

  /**
   * The actors one after the other, beginning anew after the last: `group.next().score(document)`. Those that are away for now are passed over while
   * there are others.
   *
   * @throws MarinError FRAY_ACTOR_UNAVAILABLE where none is ready yet
   */
  next(): ActorHandle<T> {
    const { handles } = this;
    const running = handles.filter(({ actor }) => actor.state === "running");
    const among = running.length > 0 ? running : handles;
    const handle = among[this.#turn++ % among.length];
    if (handle !== undefined) return handle;
    throw new MarinError("FRAY_ACTOR_UNAVAILABLE", `No actor of the group "${this.name}" is ready yet: wait for waitReady().`, { data: { group: this.name, state: "restarting", ran: "no" } });
  }

  /** Stops all of them, also those that are only starting. */
  async stop(options: { readonly graceMs?: number } = {}): Promise<void> {
    await Promise.allSettled(this.#starting.map(async (starting) => (await starting).actor.stop(options)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #changed(): void {
    this.#settled += 1;
    for (const wake of [...this.#watchers]) wake();
  }

  #change(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#watchers.delete(wake);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      this.#watchers.add(wake);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }

  #late(count: number, timeoutMs: number): MarinError {
    return new MarinError("FRAY_TIMEOUT", `Of the group "${this.name}" ${this.#ready.length} actors were ready after ${timeoutMs} ms, of ${count} waited for.`, {
      data: { group: this.name, ready: this.#ready.length, count, timeoutMs },
    });
  }
}
