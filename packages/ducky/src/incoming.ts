import { cancelledByCaller, deadlineExceeded, startDeadline, type CallName } from "./call-errors.js";
import type { CallContext, Service, ServiceHandlers, Methods, ServerStreamMethod, UnaryMethod } from "./contract.js";
import { errorToWire } from "./error-wire.js";
import { MarinError } from "./errors.js";
import { badFrame, frameKinds, type Frame } from "./frames.js";
import { validate } from "./validation.js";

type CallFrame = Extract<Frame, { readonly kind: 0 }>;
type Handler = (input: unknown, call: CallContext) => unknown;

interface Served {
  readonly methods: Methods;
  readonly handlers: Readonly<Record<string, Handler | undefined>>;
}

/** What an item counts for beside its bytes, so that a stream of tiny items is bounded as well. */
const itemOverheadBytes = 64;

/** What an item counts for against its stream's window. */
export function itemWeight(bytes: number): number {
  return bytes + itemOverheadBytes;
}

/** The calls that the other end has made and that are at work here. */
export class IncomingCalls {
  readonly #send: (frame: Frame) => number;
  readonly #services = new Map<string, Served>();
  readonly #running = new Map<number, IncomingCall>();
  #lastId = 0;

  constructor(send: (frame: Frame) => number) {
    this.#send = send;
  }

  /** Offers a service. */
  serve<M extends Methods>(service: Service<M>, handlers: ServiceHandlers<M>): void {
    const { name, methods } = service;
    if (this.#services.has(name)) {
      throw new MarinError("DUCKY_DUPLICATE_SERVICE", `The service "${name}" is served on this connection already: one service of a name.`, { data: { service: name } });
    }
    const missing = Object.keys(methods).filter((method) => typeof handlers[method] !== "function");
    if (missing.length > 0) {
      throw new MarinError("DUCKY_MISSING_HANDLER", `The service "${name}" lacks a handler for: ${missing.join(", ")}.`, { data: { service: name, missing } });
    }
    this.#services.set(name, { methods, handlers: handlers as unknown as Served["handlers"] });
  }

  /** Takes a frame that the caller's end sends. */
  receive(frame: Extract<Frame, { readonly kind: 0 | 1 | 2 }>): void {
    if (frame.kind === frameKinds.call) {
      if (frame.id <= this.#lastId) throw badFrame("its call id is not greater than the one before", { id: frame.id });
      this.#lastId = frame.id;
      this.#start(frame);
      return;
    }
    if (frame.id > this.#lastId) throw badFrame("it is about a call that was never made", { id: frame.id });
    // A call that has ended meanwhile needs neither.
    if (frame.kind === frameKinds.cancel) this.#running.get(frame.id)?.cancel(frame.reason);
    else this.#running.get(frame.id)?.grant(frame.bytes);
  }

  /** Tells every handler at work that nobody waits for it any more. */
  close(reason: Error): void {
    for (const call of [...this.#running.values()]) call.abort(reason);
  }

  #start(frame: CallFrame): void {
    const found = this.#find(frame);
    if (found instanceof MarinError) {
      this.#send({ kind: frameKinds.error, id: frame.id, error: errorToWire(found) });
      return;
    }
    const call = new IncomingCall(frame, this.#send, () => this.#running.delete(frame.id));
    this.#running.set(frame.id, call);
    void call.run(found.method, found.handler);
  }

  #find({ service, method: name, window }: CallFrame): { readonly method: UnaryMethod | ServerStreamMethod; readonly handler: Handler } | MarinError {
    const served = this.#services.get(service);
    if (served === undefined) {
      const names = [...this.#services.keys()];
      return new MarinError("DUCKY_UNKNOWN_SERVICE", `No service "${service}" is served here; there is ${names.length === 0 ? "none" : names.join(", ")}.`, { data: { service, served: names } });
    }
    const method = Object.hasOwn(served.methods, name) ? served.methods[name] : undefined;
    const handler = served.handlers[name];
    if (method === undefined || handler === undefined) {
      const names = Object.keys(served.methods);
      return new MarinError("DUCKY_UNKNOWN_METHOD", `The service "${service}" has no method "${name}"; it has ${names.join(", ")}.`, { data: { service, method: name, methods: names } });
    }
    if ((method.kind === "serverStream") !== (window !== null)) {
      return new MarinError("DUCKY_METHOD_MISMATCH", `${service}.${name} is a ${method.kind} method here and is called as the other kind. Both ends must share one contract.`, { data: { service, method: name, kind: method.kind } });
    }
    return { method, handler };
  }
}

class IncomingCall {
  readonly #id: number;
  readonly #name: CallName;
  readonly #input: unknown;
  readonly #send: (frame: Frame) => number;
  readonly #forget: () => void;
  readonly #controller = new AbortController();
  readonly #expiresAt: number | undefined;
  readonly #stopTimer: () => void;
  #credit: number;
  #wake: () => void = () => undefined;

  constructor(frame: CallFrame, send: (frame: Frame) => number, forget: () => void) {
    const { id, service, method, input, timeoutMs, window } = frame;
    this.#id = id;
    this.#name = { service, method };
    this.#input = input;
    this.#send = send;
    this.#forget = forget;
    this.#credit = window ?? 0;
    this.#expiresAt = timeoutMs === null ? undefined : performance.now() + timeoutMs;
    this.#stopTimer = startDeadline(timeoutMs, () => {
      this.abort(deadlineExceeded(this.#name, timeoutMs ?? 0));
    });
  }

  cancel(wireReason: unknown): void {
    this.abort(cancelledByCaller(this.#name, wireReason));
  }

  grant(bytes: number): void {
    this.#credit += bytes;
    this.#wake();
  }

  /** Ends the call without an answer. */
  abort(reason: Error): void {
    this.#end();
    this.#controller.abort(reason);
    this.#wake();
  }

  async run(method: UnaryMethod | ServerStreamMethod, handler: Handler): Promise<void> {
    const { service, method: name } = this.#name;
    const context: CallContext = {
      signal: this.#controller.signal,
      remainingMs: () => (this.#expiresAt === undefined ? undefined : Math.max(0, this.#expiresAt - performance.now())),
    };
    try {
      const checked = validate(method.input, this.#input, "input", service, name);
      // Awaited only where needed, so that handlers start in the order of the calls.
      const input: unknown = checked instanceof Promise ? await checked : checked;
      const answer = handler(input, context);
      if (method.kind === "serverStream") {
        await this.#pump(method, answer as AsyncIterable<unknown> | Iterable<unknown>);
        this.#reply({ kind: frameKinds.end, id: this.#id });
      } else {
        const value = await answer;
        await validate(method.output, value, "output", service, name);
        this.#reply({ kind: frameKinds.result, id: this.#id, value });
      }
    } catch (error) {
      this.#reply({ kind: frameKinds.error, id: this.#id, error: errorToWire(error) });
    }
  }

  /** Sends the items, each when the caller has room for it. */
  async #pump(method: ServerStreamMethod, items: AsyncIterable<unknown> | Iterable<unknown>): Promise<void> {
    const iterator: AsyncIterator<unknown, unknown> | Iterator<unknown, unknown> = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
    const { signal } = this.#controller;
    let finished = false;
    try {
      while (!signal.aborted) {
        if (this.#credit <= 0) {
          await new Promise<void>((resolve) => (this.#wake = resolve));
          continue;
        }
        const next = await this.#nextOf(iterator);
        if (next === undefined || signal.aborted) return;
        if (next.done === true) {
          finished = true;
          return;
        }
        await validate(method.output, next.value, "output", this.#name.service, this.#name.method);
        this.#credit -= itemWeight(this.#send({ kind: frameKinds.item, id: this.#id, value: next.value }));
      }
    } catch (error) {
      finished = true;
      throw error;
    } finally {
      // Not waited for: a generator answers only once its pending step has ended.
      if (!finished) void Promise.resolve(iterator.return?.()).catch(() => undefined);
    }
  }

  /** The next item; undefined when the call is aborted before there is one. Not a race against one lasting promise, which would keep something of every item. */
  #nextOf(iterator: AsyncIterator<unknown, unknown> | Iterator<unknown, unknown>): Promise<IteratorResult<unknown, unknown> | undefined> {
    return new Promise((resolve, reject) => {
      this.#wake = () => {
        if (this.#controller.signal.aborted) resolve(undefined);
      };
      Promise.resolve(iterator.next()).then(resolve, reject);
    });
  }

  #reply(frame: Frame): void {
    if (this.#controller.signal.aborted) return;
    this.#end();
    try {
      this.#send(frame);
    } catch (error) {
      // An answer that cannot be sent: the codec's or the connection's own error, which is short.
      this.#send({ kind: frameKinds.error, id: this.#id, error: errorToWire(error) });
    }
  }

  #end(): void {
    this.#stopTimer();
    this.#forget();
  }
}
