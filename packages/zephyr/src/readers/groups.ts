/** Records as they become known: a group for each piece of a file, taken apart when it is iterated. */
export type RecordGroups<T> = AsyncGenerator<Iterable<T>>;

/**
 * The records of groups one by one. One promise a group is waited for; what is known already comes at once, which is a fraction of
 * the cost of a generator's turn for each record.
 */
export class Flattened<T> implements AsyncIterableIterator<T> {
  readonly #groups: RecordGroups<T>;
  #group: Iterator<T> | undefined;
  /** Settles when the calls before have their results. */
  #turn: Promise<unknown> | undefined;

  constructor(groups: RecordGroups<T>) {
    this.#groups = groups;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#turn !== undefined) return this.#inTurn(() => this.#advance());
    try {
      const known = this.#group?.next();
      if (known?.done === false) return Promise.resolve(known);
    } catch (error) {
      return this.#inTurn(() => this.#fail(error));
    }
    return this.#inTurn(() => this.#advance());
  }

  return(): Promise<IteratorResult<T>> {
    return this.#inTurn(async () => {
      this.#group?.return?.();
      this.#group = undefined;
      await this.#groups.return(undefined);
      return { done: true, value: undefined };
    });
  }

  async #advance(): Promise<IteratorResult<T>> {
    try {
      for (;;) {
        const known = this.#group?.next();
        if (known?.done === false) return known;
        const next = await this.#groups.next();
        if (next.done === true) return { done: true, value: undefined };
        this.#group = next.value[Symbol.iterator]();
      }
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** The source is closed, since nobody asks for more after an error. */
  async #fail(error: unknown): Promise<never> {
    this.#group = undefined;
    await this.#groups.return(undefined);
    throw error;
  }

  #inTurn(work: () => Promise<IteratorResult<T>>): Promise<IteratorResult<T>> {
    const result = this.#turn === undefined ? work() : this.#turn.then(work, work);
    const turn = result.catch(() => undefined).then(() => {
      if (this.#turn === turn) this.#turn = undefined;
    });
    this.#turn = turn;
    return result;
  }
}
