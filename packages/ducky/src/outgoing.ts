import { callerHasLeft, connectionClosed, deadlineExceeded, startDeadline, type CallName } from "./call-errors.js";
import type { BidiStreamMethod, CallOptions, ClientStreamMethod, Items, Method, ServerStreamMethod, UnaryMethod } from "./contract.js";
import { errorFromWire, errorToWire } from "./error-wire.js";
import { MarinError } from "./errors.js";
import { firstInputCredit, ItemQueue, ItemSender } from "./flow.js";
import { badFrame, frameKinds, methodKinds, type AnswerFrame, type Frame } from "./frames.js";
import { validate } from "./validation.js";

/** What {@link OutgoingCalls} needs of its connection. */
export interface OutgoingOptions {
  /** Sends a frame; gives its bytes. */
  readonly send: (frame: Frame) => number;
  readonly peer: string;
  /** Bytes of an answer's stream that may be under way or wait for the consumer. */
  readonly windowBytes: number;
}

/** What an open call does with its answer. */
interface Answered {
  /** The one answer; absent for a method that answers with a stream. */
  result?(value: unknown): void;
  /** Takes the answer's items. */
  readonly queue?: ItemQueue | undefined;
  /** Sends the caller's items. */
  readonly sender?: ItemSender | undefined;
  /** The call has failed; `atOnce`: without the items that still wait for the consumer. */
  fail(error: unknown, atOnce: boolean): void;
}

/** The calls this end has made and that have no answer yet. */
export class OutgoingCalls {
  readonly #options: OutgoingOptions;
  readonly #open = new Map<number, OpenCall>();
  #lastId = 0;
  #closed: { readonly cause: Error | undefined } | undefined;

  constructor(options: OutgoingOptions) {
    this.#options = options;
  }

  /** How many there are. */
  get size(): number {
    return this.#open.size;
  }

  /** Calls a method with one answer. The frame is sent before this returns when the schema checks at once. */
  unary(name: CallName, method: UnaryMethod, input: unknown, options: CallOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      options.signal?.throwIfAborted();
      const answered = new SingleAnswer(name, method, resolve, reject);
      const checked = validate(method.input, input, "input", name.service, name.method);
      if (checked instanceof Promise) checked.then(() => this.#start(name, method, input, options, answered)).catch(reject);
      else this.#start(name, method, input, options, answered);
    });
  }

  /** Calls a method that takes a stream and gives one answer. */
  clientStream(name: CallName, method: ClientStreamMethod, items: Items<unknown>, options: CallOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      options.signal?.throwIfAborted();
      const sender = new ItemSender(firstInputCredit);
      const call = this.#start(name, method, null, options, new SingleAnswer(name, method, resolve, reject, sender));
      this.#sendItems(call, sender, items);
    });
  }

  /** Calls a method that answers with a stream; nothing is sent before the first item is asked for. */
  async *serverStream(name: CallName, method: ServerStreamMethod, input: unknown, options: CallOptions): AsyncGenerator<unknown, void, void> {
    options.signal?.throwIfAborted();
    const checked = validate(method.input, input, "input", name.service, name.method);
    if (checked instanceof Promise) await checked;
    yield* this.#stream(name, method, input, options, undefined);
  }

  /** Calls a method with a stream in either direction; nothing is sent before the first item is asked for. */
  async *bidiStream(name: CallName, method: BidiStreamMethod, items: Items<unknown>, options: CallOptions): AsyncGenerator<unknown, void, void> {
    options.signal?.throwIfAborted();
    yield* this.#stream(name, method, null, options, items);
  }

  /** Hands a received frame to its call; one for a call that has ended meanwhile is dropped. */
  receive(frame: AnswerFrame, bytes: number): void {
    if (frame.id > this.#lastId) throw badFrame("it answers a call that was never made", { id: frame.id });
    this.#open.get(frame.id)?.receive(frame, bytes);
  }

  /** Fails every open call and all later ones. */
  close(cause: Error | undefined): void {
    this.#closed = { cause };
    for (const call of [...this.#open.values()]) call.fail(connectionClosed(this.#options.peer, call.name, "lost", cause), false);
  }

  async *#stream(name: CallName, method: ServerStreamMethod | BidiStreamMethod, input: unknown, options: CallOptions, items: Items<unknown> | undefined): AsyncGenerator<unknown, void, void> {
    const { windowBytes } = this.#options;
    let id = 0;
    const queue = new ItemQueue(
      windowBytes,
      windowBytes,
      (bytes) => {
        this.#options.send({ kind: frameKinds.credit, id, bytes });
      },
      (value) => validate(method.output, value, "output", name.service, name.method),
    );
    const fail = (error: unknown, atOnce: boolean): void => {
      queue.fail(error, atOnce);
    };
    const sender = items === undefined ? undefined : new ItemSender(firstInputCredit);
    const call = this.#start(name, method, input, options, { queue, sender, fail });
    id = call.id;
    if (items !== undefined && sender !== undefined) this.#sendItems(call, sender, items);
    try {
      yield* queue.items();
    } finally {
      if (!call.ended) call.giveUp(callerHasLeft(name));
    }
  }

  /** Sends the caller's items; if they throw, so does the call. */
  #sendItems(call: OpenCall, sender: ItemSender, items: Items<unknown>): void {
    const { id, name, method } = call;
    const sendItem = (value: unknown): number => this.#options.send({ kind: frameKinds.input, id, value });
    const sending = sender.send(items, (value) => {
      const checked = validate(method.input, value, "input", name.service, name.method);
      return checked instanceof Promise ? checked.then(() => (call.ended ? 0 : sendItem(value))) : sendItem(value);
    });
    sending.then(
      (complete) => {
        if (complete && !call.ended) this.#options.send({ kind: frameKinds.inputEnd, id });
      },
      (error: unknown) => {
        call.giveUp(error);
      },
    );
  }

  #start(name: CallName, method: Method, input: unknown, options: CallOptions, answered: Answered): OpenCall {
    if (this.#closed !== undefined) throw connectionClosed(this.#options.peer, name, "unsent", this.#closed.cause);
    const timeoutMs = checkedTimeout(name, options.timeoutMs);
    const id = this.#lastId + 1;
    const { queue } = answered;
    this.#options.send({
      kind: frameKinds.call,
      id,
      service: name.service,
      method: name.method,
      methodKind: methodKinds.indexOf(method.kind),
      input,
      timeoutMs,
      window: queue === undefined ? 0 : this.#options.windowBytes,
    });
    this.#lastId = id;
    const call = new OpenCall(id, name, method, answered, this.#forget, this.#cancel);
    this.#open.set(id, call);
    call.watch(options.signal, timeoutMs);
    return call;
  }

  readonly #forget = (id: number): void => {
    this.#open.delete(id);
  };

  readonly #cancel = (id: number, reason: unknown): void => {
    if (this.#closed !== undefined) return;
    try {
      this.#options.send({ kind: frameKinds.cancel, id, reason: errorToWire(reason) });
    } catch {
      // The reason is too large to be told; that it is cancelled still is.
      this.#options.send({ kind: frameKinds.cancel, id, reason: null });
    }
  };
}

/** A call that has no answer yet. */
class OpenCall {
  readonly id: number;
  readonly name: CallName;
  readonly method: Method;
  readonly #answered: Answered;
  readonly #forget: (id: number) => void;
  readonly #cancel: (id: number, reason: unknown) => void;
  #unwatch: (() => void) | undefined;
  #ended = false;

  constructor(id: number, name: CallName, method: Method, answered: Answered, forget: (id: number) => void, cancel: (id: number, reason: unknown) => void) {
    this.id = id;
    this.name = name;
    this.method = method;
    this.#answered = answered;
    this.#forget = forget;
    this.#cancel = cancel;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Gives up when the signal is aborted or the time is over. */
  watch(signal: AbortSignal | undefined, timeoutMs: number | null): void {
    if (signal === undefined && timeoutMs === null) return;
    const onAbort = (): void => {
      this.giveUp(signal?.reason);
    };
    const stopTimer = startDeadline(timeoutMs, () => {
      this.giveUp(deadlineExceeded(this.name, timeoutMs ?? 0));
    });
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#unwatch = () => {
      stopTimer();
      signal?.removeEventListener("abort", onAbort);
    };
  }

  receive(frame: AnswerFrame, bytes: number): void {
    const { queue, sender } = this.#answered;
    switch (frame.kind) {
      case frameKinds.result:
        if (this.#answered.result === undefined) throw this.#unexpected("a single answer");
        this.#end();
        this.#answered.result(frame.value);
        return;
      case frameKinds.item:
        if (queue === undefined) throw this.#unexpected("an item");
        queue.push(frame.value, bytes);
        return;
      case frameKinds.end:
        if (queue === undefined) throw this.#unexpected("the end of a stream");
        this.#end();
        queue.end();
        return;
      case frameKinds.inputCredit:
        if (sender === undefined) throw this.#unexpected("room for a stream");
        sender.grant(frame.bytes);
        return;
      case frameKinds.error:
        this.fail(errorFromWire(frame.error), false);
    }
  }

  /** Ends the call with an error. */
  fail(error: unknown, atOnce: boolean): void {
    if (this.#ended) return;
    this.#end();
    this.#answered.fail(error, atOnce);
  }

  /** Ends the call from this side. */
  giveUp(error: unknown): void {
    if (this.#ended) return;
    this.fail(error, true);
    this.#cancel(this.id, error);
  }

  #end(): void {
    this.#ended = true;
    this.#forget(this.id);
    this.#unwatch?.();
    this.#answered.sender?.stop();
  }

  #unexpected(what: string): MarinError {
    const { service, method } = this.name;
    return badFrame(`it is ${what}, which ${service}.${method} does not answer with`, { id: this.id, service, method });
  }
}

/** Settles a promise with the one answer, once it is checked. */
class SingleAnswer implements Answered {
  readonly sender: ItemSender | undefined;
  readonly #name: CallName;
  readonly #method: Method;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: unknown) => void;

  constructor(name: CallName, method: Method, resolve: (value: unknown) => void, reject: (error: unknown) => void, sender?: ItemSender) {
    this.#name = name;
    this.#method = method;
    this.#resolve = resolve;
    this.#reject = reject;
    this.sender = sender;
  }

  result(value: unknown): void {
    try {
      this.#resolve(validate(this.#method.output, value, "output", this.#name.service, this.#name.method));
    } catch (error) {
      this.#reject(error);
    }
  }

  fail(error: unknown): void {
    this.#reject(error);
  }
}

function checkedTimeout(name: CallName, timeoutMs: number | undefined): number | null {
  if (timeoutMs === undefined || timeoutMs === Infinity) return null;
  if (timeoutMs > 0) return timeoutMs;
  throw new MarinError("DUCKY_BAD_TIMEOUT", `timeoutMs of ${name.service}.${name.method} must be a positive number of milliseconds, found ${timeoutMs}.`, { data: { ...name, timeoutMs } });
}
