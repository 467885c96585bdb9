/** Runs pieces of asynchronous work one after the other, in the order in which they were handed in; a failure does not stop later ones. */
export class RunQueue {
  #tail: Promise<unknown> = Promise.resolve();

  /** Starts `work` when everything handed in before has ended; the result or failure is the work's own. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work);
    this.#tail = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }

  /** Resolves when everything handed in so far has ended. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}
