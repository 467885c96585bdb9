/** Runs pieces of asynchronous work one after the other, in the order in which they were handed in; a failure does not stop later ones. */
export class RunQueue {
  #tail: Promise<unknown> = Promise.resolve();
  #unfinished = 0;

  /** Whether work handed in has not ended yet. */
  get busy(): boolean {
    return this.#unfinished > 0;
  }

  /** Starts `work` when everything handed in before has ended; the result or failure is the work's own. */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.#unfinished += 1;
    const result = this.#tail.then(work);
    const ended = (): void => {
      this.#unfinished -= 1;
    };
    this.#tail = result.then(ended, ended);
    return result;
  }

  /** Resolves when everything handed in so far has ended. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}
