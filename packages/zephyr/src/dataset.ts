import { MarinError } from "@marin/iris";

/** What a dataset can be made from. */
export type DatasetSource<T> = AsyncIterable<T> | Iterable<T>;

/**
 * A lazy sequence of items. Each operation gives a new dataset and does nothing by itself; iterating runs them all, one
 * item at a time, in order. A dataset can be iterated again when its source can.
 */
export class Dataset<T> implements AsyncIterable<T> {
  readonly #iterate: () => AsyncIterator<T>;

  private constructor(iterate: () => AsyncIterator<T>) {
    this.#iterate = iterate;
  }

  /** A dataset of the array's items. */
  static fromArray<T>(items: readonly T[]): Dataset<T> {
    return Dataset.fromAsyncIterable(items);
  }

  /**
   * A dataset of what a source gives: a reader, an array, a set, a generator.
   *
   * @throws MarinError ZEPHYR_CONSUMED when iterating a dataset for the second time whose source, such as a generator,
   * gives its items only once
   */
  static fromAsyncIterable<T>(source: DatasetSource<T>): Dataset<T> {
    let consumed = false;
    return new Dataset(async function* () {
      const iterator: unknown = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
      if (iterator === source) {
        if (consumed) {
          throw new MarinError("ZEPHYR_CONSUMED", "This dataset was iterated already and its source gives its items only once: make it from an array or a reader instead.");
        }
        consumed = true;
      }
      yield* source;
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return this.#iterate();
  }

  /** Each item replaced by what the function returns; a promise is awaited before the next item is asked for. */
  map<U>(transform: (item: T, index: number) => U | Promise<U>): Dataset<U> {
    return this.#then(async function* (items) {
      let index = 0;
      for await (const item of items) yield transform(item, index++);
    });
  }

  /** The items for which the function returns true. */
  filter(keep: (item: T, index: number) => boolean | Promise<boolean>): Dataset<T> {
    return this.#then(async function* (items) {
      let index = 0;
      for await (const item of items) if (await keep(item, index++)) yield item;
    });
  }

  /** Each item replaced by the items the function returns, none or many. */
  flatMap<U>(expand: (item: T, index: number) => DatasetSource<U> | Promise<DatasetSource<U>>): Dataset<U> {
    return this.#then(async function* (items) {
      let index = 0;
      for await (const item of items) yield* await expand(item, index++);
    });
  }

  /**
   * The first items. The source is closed after them: the rest is not read.
   *
   * @param count - at least 0
   * @throws MarinError ZEPHYR_BAD_COUNT
   */
  take(count: number): Dataset<T> {
    requireCount("take", count, 0);
    return this.#then(async function* (items) {
      if (count === 0) return;
      let taken = 0;
      for await (const item of items) {
        yield item;
        taken += 1;
        if (taken === count) return;
      }
    });
  }

  /**
   * Items gathered into arrays of `size`; the last one may be shorter.
   *
   * @param size - at least 1
   * @throws MarinError ZEPHYR_BAD_COUNT
   */
  batch(size: number): Dataset<T[]> {
    requireCount("batch", size, 1);
    return this.#then(async function* (items) {
      let batch: T[] = [];
      for await (const item of items) {
        batch.push(item);
        if (batch.length < size) continue;
        yield batch;
        batch = [];
      }
      if (batch.length > 0) yield batch;
    });
  }

  /** All items, in memory. */
  async toArray(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }

  #then<U>(operation: (items: AsyncIterable<T>) => AsyncGenerator<U>): Dataset<U> {
    return new Dataset(() => operation(this));
  }
}

function requireCount(operation: string, count: number, least: number): void {
  if (Number.isSafeInteger(count) && count >= least) return;
  throw new MarinError("ZEPHYR_BAD_COUNT", `${operation}() needs a whole number of at least ${String(least)}, found ${String(count)}.`, { data: { operation, count } });
}
