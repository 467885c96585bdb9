import { setImmediate } from "node:timers/promises";

/** How long a loop that never waits may keep everything else of its process out. */
const turnMs = 20;

/** Each so many records the clock is looked at. */
const recordsBetween = 8;

/**
 * The turns of a loop over records. Functions that never wait would keep messages, timers and signals out until the loop ends, and with them the one
 * that stops it: after each turn they come in.
 */
export class Turns {
  readonly #signal: AbortSignal | undefined;
  #records = 0;
  #end = performance.now() + turnMs;

  /** @param signal - ends the loop */
  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** Asked for each record: whether {@link next} has to be waited for before it. */
  isOver(): boolean {
    if (this.#signal?.aborted === true) return true;
    this.#records += 1;
    return this.#records % recordsBetween === 0 && performance.now() >= this.#end;
  }

  /** Lets others come in. @throws the signal's reason */
  async next(): Promise<void> {
    this.#signal?.throwIfAborted();
    await setImmediate();
    this.#signal?.throwIfAborted();
    this.#end = performance.now() + turnMs;
  }
}
