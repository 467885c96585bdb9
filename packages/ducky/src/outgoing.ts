import { connectionClosed, deadlineExceeded, startDeadline, type CallName } from "./call-errors.js";
import type { CallOptions, ServerStreamMethod, UnaryMethod } from "./contract.js";
import { errorFromWire, errorToWire } from "./error-wire.js";
import { MarinError } from "./errors.js";
import { badFrame, frameKinds, type Frame } from "./frames.js";
import { itemWeight } from "./incoming.js";
import { validate } from "./validation.js";

/** What an open call is told. */
export interface Receiver {
  readonly name: CallName;
  result(value: unknown): void;
  item(value: unknown, bytes: number): void;
  end(): void;
  /** `at once`: without the items that still wait for the consumer. */
  fail(error: unknown, atOnce: boolean): void;
}

/** The calls this end has made and that have no answer yet. */
export class OutgoingCalls {
  readonly #send: (frame: Frame) => void;
  readonly #peer: string;
  readonly #window: number;
  readonly #open = new Map<number, Receiver>();
  #lastId = 0;
  #closed: { readonly cause: Error | undefined } | undefined;

  constructor(send: (frame: Frame) => void, peer: string, window: number) {
    this.#send = send;
    this.#peer = peer;
    this.#window = window;
  }

  /** How many there are. */
  get size(): number {
    return this.#open.size;
  }

  /** Calls a method with one answer. The frame is sent before this returns when the schema checks at once. */
  unary(name: CallName, method: UnaryMethod, input: unknown, options: CallOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      options.signal?.throwIfAborted();
      const start = (): void => {
        const finish = this.#start(name, input, options, null, {
          result: (value) => {
            finish();
            const check = async (): Promise<unknown> => validate(method.output, value, "output", name.service, name.method);
            resolve(check());
          },
          fail: (error) => {
            finish();
            // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as fetch does: an aborted signal's reason is whatever the caller gave
            reject(error);
          },
        });
      };
      const checked = validate(method.input, input, "input", name.service, name.method);
      if (checked instanceof Promise) checked.then(start).catch(reject);
      else start();
    });
  }

  /** Calls a method that answers with a stream; nothing is sent before the first item is asked for. */
  async *stream(name: CallName, method: ServerStreamMethod, input: unknown, options: CallOptions): AsyncGenerator<unknown, void, void> {
    options.signal?.throwIfAborted();
    await validate(method.input, input, "input", name.service, name.method);
    const queue: { readonly value: unknown; readonly weight: number }[] = [];
    let ended: { readonly failure?: { readonly error: unknown } } | undefined;
    let wake: () => void = () => undefined;
    let id = 0;
    const finish = this.#start(name, input, options, this.#window, {
      opened: (given) => (id = given),
      item: (value, bytes) => {
        queue.push({ value, weight: itemWeight(bytes) });
        wake();
      },
      end: () => {
        finish();
        ended = {};
        wake();
      },
      fail: (error, atOnce) => {
        finish();
        if (atOnce) queue.length = 0;
        ended = { failure: { error } };
        wake();
      },
    });
    let owed = 0;
    const hasEnded = (): typeof ended => ended;
    try {
      for (;;) {
        const next = queue.shift();
        if (next !== undefined) {
          owed += next.weight;
          if (owed >= this.#window / 2 && hasEnded() === undefined) {
            this.#send({ kind: frameKinds.credit, id, bytes: owed });
            owed = 0;
          }
          yield await validate(method.output, next.value, "output", name.service, name.method);
          continue;
        }
        const end = hasEnded();
        if (end?.failure !== undefined) throw end.failure.error;
        if (end !== undefined) return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      if (hasEnded() === undefined) {
        finish();
        this.#cancel(id, new MarinError("DUCKY_CANCELLED", "The stream's consumer has left.", { data: { ...name } }));
      }
    }
  }

  /** Hands a received frame to its call; one for a call that has ended meanwhile is dropped. */
  receive(frame: Extract<Frame, { readonly kind: 3 | 4 | 5 | 6 }>, bytes: number): void {
    if (frame.id > this.#lastId) throw badFrame("it answers a call that was never made", { id: frame.id });
    const receiver = this.#open.get(frame.id);
    if (receiver === undefined) return;
    switch (frame.kind) {
      case frameKinds.result:
        receiver.result(frame.value);
        return;
      case frameKinds.item:
        receiver.item(frame.value, bytes);
        return;
      case frameKinds.end:
        receiver.end();
        return;
      case frameKinds.error:
        receiver.fail(errorFromWire(frame.error), false);
    }
  }

  /** Fails every open call and all later ones. */
  close(cause: Error | undefined): void {
    this.#closed = { cause };
    for (const receiver of [...this.#open.values()]) receiver.fail(connectionClosed(this.#peer, receiver.name, cause), false);
  }

  #start(name: CallName, input: unknown, options: CallOptions, window: number | null, partial: Partial<Receiver> & Pick<Receiver, "fail"> & { readonly opened?: (id: number) => void }): () => void {
    if (this.#closed !== undefined) throw connectionClosed(this.#peer, name, this.#closed.cause);
    const timeoutMs = checkedTimeout(name, options.timeoutMs);
    const id = ++this.#lastId;
    partial.opened?.(id);
    const unexpected = (what: string) => () => {
      throw badFrame(`it is ${what}, which ${name.service}.${name.method} does not answer with`, { id, ...name });
    };
    const receiver: Receiver = { name, result: unexpected("a single answer"), item: unexpected("an item"), end: unexpected("the end of a stream"), ...partial };
    this.#open.set(id, receiver);
    const { signal } = options;
    const giveUp = (error: unknown): void => {
      receiver.fail(error, true);
      this.#cancel(id, error);
    };
    const onAbort = (): void => {
      giveUp(signal?.reason);
    };
    const stopTimer = startDeadline(timeoutMs, () => {
      giveUp(deadlineExceeded(name, timeoutMs ?? 0));
    });
    signal?.addEventListener("abort", onAbort, { once: true });
    const finish = (): void => {
      this.#open.delete(id);
      stopTimer();
      signal?.removeEventListener("abort", onAbort);
    };
    try {
      this.#send({ kind: frameKinds.call, id, ...name, input, timeoutMs, window });
    } catch (error) {
      finish();
      throw error;
    }
    return finish;
  }

  #cancel(id: number, reason: unknown): void {
    if (this.#closed !== undefined) return;
    try {
      this.#send({ kind: frameKinds.cancel, id, reason: errorToWire(reason) });
    } catch {
      // The reason is too large to be told; that it is cancelled still is.
      this.#send({ kind: frameKinds.cancel, id, reason: null });
    }
  }
}

function checkedTimeout(name: CallName, timeoutMs: number | undefined): number | null {
  if (timeoutMs === undefined || timeoutMs === Infinity) return null;
  if (timeoutMs > 0) return timeoutMs;
  throw new MarinError("DUCKY_BAD_TIMEOUT", `timeoutMs of ${name.service}.${name.method} must be a positive number of milliseconds, found ${timeoutMs}.`, { data: { ...name, timeoutMs } });
}
