import type { Items } from "./contract.js";
import { badFrame } from "./frames.js";

/** Bytes of a caller's stream that may be sent before the other end has granted any. */
export const firstInputCredit = 65_536;

/** What an item counts for beside its bytes, so that a stream of tiny items is bounded as well. */
const itemOverheadBytes = 64;

/** What an item counts for against its stream's window, at both ends. */
function itemWeight(bytes: number): number {
  return bytes + itemOverheadBytes;
}

/** Sends the items of a stream, each when the other end has room for it. */
export class ItemSender {
  #credit: number;
  #stopped = false;
  #wake: () => void = () => undefined;

  constructor(credit: number) {
    this.#credit = credit;
  }

  /** The other end has room for more. */
  grant(bytes: number): void {
    this.#credit += bytes;
    this.#wake();
  }

  /** Nobody wants the items any more: `send` leaves its source and returns. */
  stop(): void {
    this.#stopped = true;
    this.#wake();
  }

  /**
   * Sends all items.
   *
   * @param items - asked for one at a time, and closed when left before its end
   * @param sendItem - sends one; gives its bytes
   * @returns whether the stream has ended; false when it was stopped
   * @throws what the items or `sendItem` throw
   */
  async send(items: Items<unknown>, sendItem: (value: unknown) => number | Promise<number>): Promise<boolean> {
    const iterator = iteratorOf(items);
    let finished = false;
    try {
      while (!this.#stopped) {
        if (this.#credit <= 0) {
          await new Promise<void>((resolve) => (this.#wake = resolve));
          continue;
        }
        finished = true;
        const next = await this.#nextOf(iterator);
        finished = next?.done === true;
        if (next === undefined || this.#hasStopped()) return false;
        if (finished) return true;
        const sent = sendItem(next.value);
        this.#credit -= itemWeight(typeof sent === "number" ? sent : await sent);
      }
      return false;
    } finally {
      // Not where the source itself has ended or thrown. Not waited for: a generator answers only once its pending step has ended.
      if (!finished) void closeQuietly(iterator);
    }
  }

  /** Read anew: it may have changed since the loop began its turn. */
  #hasStopped(): boolean {
    return this.#stopped;
  }

  /** The next item; undefined when stopped before there is one. Not a race against one lasting promise, which would keep something of every item. */
  #nextOf(iterator: AnyIterator): Promise<IteratorResult<unknown, unknown> | undefined> | IteratorResult<unknown, unknown> {
    const next = iterator.next();
    if (!("then" in next)) return next;
    return new Promise((resolve, reject) => {
      this.#wake = () => {
        if (this.#stopped) resolve(undefined);
      };
      next.then(resolve, reject);
    });
  }
}

type AnyIterator = AsyncIterator<unknown, unknown> | Iterator<unknown, unknown>;

function iteratorOf(items: Items<unknown>): AnyIterator {
  return Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
}

async function closeQuietly(iterator: AnyIterator): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // Whoever would be told has gone.
  }
}

/** Takes the items of a stream that the other end sends, and grants it room as they are consumed. */
export class ItemQueue {
  readonly #window: number;
  readonly #grant: (bytes: number) => void;
  readonly #check: (value: unknown) => unknown;
  #items: { readonly value: unknown; readonly weight: number }[] = [];
  #next = 0;
  /** What the other end may still send. */
  #room: number;
  #owed: number;
  #ended: { readonly failure?: { readonly error: unknown } } | undefined;
  #wake: () => void = () => undefined;

  /**
   * @param granted - what the other end may send from the start; the rest of the window is granted by `open`
   * @param check - the schema's check of an item, made as it is consumed
   */
  constructor(window: number, granted: number, grant: (bytes: number) => void, check: (value: unknown) => unknown) {
    this.#window = window;
    this.#grant = grant;
    this.#check = check;
    this.#room = granted;
    this.#owed = window - granted;
  }

  /** Grants what the window has beyond what the other end may send from the start. */
  open(): void {
    if (this.#owed > 0) this.#settle();
  }

  /** Whether nothing more will come. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /**
   * Takes an item.
   *
   * @throws MarinError DUCKY_BAD_FRAME when the other end had no room for it
   */
  push(value: unknown, bytes: number): void {
    if (this.#ended !== undefined) throw badFrame("an item comes after the end of its stream", {});
    if (this.#room <= 0) throw badFrame("an item comes for which its stream has no room", {});
    const weight = itemWeight(bytes);
    this.#room -= weight;
    this.#items.push({ value, weight });
    this.#wake();
  }

  /** The stream is complete. */
  end(): void {
    this.#ended ??= {};
    this.#wake();
  }

  /** The stream breaks off; `atOnce`: without the items that still wait. */
  fail(error: unknown, atOnce: boolean): void {
    if (atOnce) this.#items = [];
    this.#ended ??= { failure: { error } };
    this.#wake();
  }

  /** The items, for one consumer. */
  async *items(): AsyncGenerator<unknown, void, void> {
    for (;;) {
      const next = this.#items[this.#next];
      if (next !== undefined) {
        this.#take(next.weight);
        const checked = this.#check(next.value);
        yield checked instanceof Promise ? await checked : checked;
        continue;
      }
      if (this.#ended?.failure !== undefined) throw this.#ended.failure.error;
      if (this.#ended !== undefined) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #take(weight: number): void {
    this.#next += 1;
    // Once for many items: cutting off the first of an array copies the rest.
    if (this.#next * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#next);
      this.#next = 0;
    }
    this.#owed += weight;
    if (this.#owed >= this.#window / 2 && this.#ended === undefined) this.#settle();
  }

  #settle(): void {
    const bytes = this.#owed;
    this.#owed = 0;
    this.#room += bytes;
    this.#grant(bytes);
  }
}
