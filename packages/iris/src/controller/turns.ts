import { MarinError } from "../platform.js";

interface Input {
  readonly change: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs changes one turn at a time: all that have come together are made, then stored together, and only then answered and acted on. */
export class Turns {
  readonly #store: () => void;
  readonly #failed: (failure: Error) => void;
  #inputs: Input[] = [];
  #after: (() => void)[] = [];
  #scheduled = false;
  #failure: Error | undefined;

  /**
   * @param store - ends a turn: stores what it has changed; what it throws ends all turns
   * @param failed - is told why there are no more turns
   */
  constructor(store: () => void, failed: (failure: Error) => void) {
    this.#store = store;
    this.#failed = failed;
  }

  /**
   * Makes a change in the next turn.
   *
   * @param change - checks first and changes then: what it throws is its caller's, and must leave nothing changed
   * @returns what `change` returns, once it is stored
   */
  run<T>(change: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#inputs.push({ change, resolve: resolve as (value: unknown) => void, reject });
      this.wake();
    });
  }

  /** Has a turn take place soon, even without inputs. */
  wake(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#turn());
  }

  /** Does something at the end of this turn, once it is stored. */
  after(action: () => void): void {
    this.#after.push(action);
  }

  /** Refuses everything from now on. */
  stop(error: Error): void {
    if (this.#failure === undefined) this.#fail(error);
    this.wake();
  }

  #turn(): void {
    this.#scheduled = false;
    const inputs = this.#inputs;
    this.#inputs = [];
    if (this.#failure !== undefined) {
      for (const { reject } of inputs) reject(this.#failure);
      return;
    }
    const answers: (() => void)[] = [];
    for (const { change, resolve, reject } of inputs) {
      try {
        const value = change();
        answers.push(() => resolve(value));
      } catch (error) {
        answers.push(() => reject(error));
      }
    }
    try {
      this.#store();
    } catch (error) {
      // What was changed here is not stored, and so must not be acted on: whoever continues begins with what is stored.
      const failure = error instanceof Error ? error : new MarinError("IRIS_STORE_FAILED", String(error));
      this.#fail(failure);
      for (const { reject } of inputs) reject(failure);
      return;
    }
    const after = this.#after;
    this.#after = [];
    for (const action of after) action();
    for (const answer of answers) answer();
  }

  #fail(failure: Error): void {
    this.#failure = failure;
    this.#after = [];
    this.#failed(failure);
  }
}
