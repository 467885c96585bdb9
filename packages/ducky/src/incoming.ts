import { cancelledByCaller, deadlineExceeded, startDeadline, type CallName } from "./call-errors.js";
import type { CallContext, Items, Method, Methods, Service, ServiceHandlers } from "./contract.js";
import { errorToWire } from "./error-wire.js";
import { MarinError } from "./errors.js";
import { firstInputCredit, ItemQueue, ItemSender } from "./flow.js";
import { badFrame, frameKinds, methodKinds, type CallerFrame, type Frame } from "./frames.js";
import type { Identity } from "./identity.js";
import { validate } from "./validation.js";

type CallFrame = Extract<Frame, { readonly kind: 0 }>;
type Handler = (input: unknown, call: CallContext) => unknown;

interface Served {
  readonly methods: Methods;
  readonly handlers: Readonly<Record<string, Handler | undefined>>;
}

/** What {@link IncomingCalls} needs of its connection. */
export interface IncomingOptions {
  /** Sends a frame; gives its bytes. */
  readonly send: (frame: Frame) => number;
  readonly identity: Identity | undefined;
  /** Bytes of a caller's stream that may be under way or wait for the handler. */
  readonly windowBytes: number;
  /** Calls that may be at work at a time. */
  readonly maxCalls: number;
  /** Why no further call is taken now, or nothing. */
  readonly overload: () => MarinError | undefined;
}

/** The calls that the other end has made and that are at work here. */
export class IncomingCalls {
  readonly #options: IncomingOptions;
  readonly #services = new Map<string, Served>();
  readonly #running = new Map<number, IncomingCall>();
  readonly #forget = (id: number): void => {
    this.#running.delete(id);
  };
  #lastId = 0;

  constructor(options: IncomingOptions) {
    this.#options = options;
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
  receive(frame: CallerFrame, bytes: number): void {
    if (frame.kind === frameKinds.call) {
      if (frame.id <= this.#lastId) throw badFrame("its call id is not greater than the one before", { id: frame.id });
      this.#lastId = frame.id;
      this.#start(frame);
      return;
    }
    if (frame.id > this.#lastId) throw badFrame("it is about a call that was never made", { id: frame.id });
    // A call that has ended meanwhile needs none of it.
    this.#running.get(frame.id)?.receive(frame, bytes);
  }

  /** Tells every handler at work that nobody waits for it any more. */
  close(reason: Error): void {
    for (const call of [...this.#running.values()]) call.abort(reason);
  }

  #start(frame: CallFrame): void {
    const found = this.#find(frame);
    if (found instanceof MarinError) {
      this.#options.send({ kind: frameKinds.error, id: frame.id, error: errorToWire(found) });
      return;
    }
    const call = new IncomingCall(frame, found.method, this.#options, this.#forget);
    this.#running.set(frame.id, call);
    call.run(found.handler, frame.input);
  }

  #find({ service, method: name, methodKind }: CallFrame): { readonly method: Method; readonly handler: Handler } | MarinError {
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
    if (method.kind !== methodKinds[methodKind]) {
      return new MarinError("DUCKY_METHOD_MISMATCH", `${service}.${name} is a ${method.kind} method here and is called as ${methodKinds[methodKind]}. Both ends must share one contract.`, {
        data: { service, method: name, kind: method.kind },
      });
    }
    if (this.#running.size >= this.#options.maxCalls) {
      const { maxCalls } = this.#options;
      return new MarinError("DUCKY_TOO_MANY_CALLS", `${service}.${name} is not taken: ${maxCalls} calls of this connection are at work, which is the most allowed.`, { data: { service, method: name, maxCalls } });
    }
    return this.#options.overload() ?? { method, handler };
  }
}

/** One call at work. It is what the handler is told about it. */
class IncomingCall implements CallContext {
  readonly #id: number;
  readonly #name: CallName;
  readonly #method: Method;
  readonly #options: IncomingOptions;
  readonly #forget: (id: number) => void;
  readonly #expiresAt: number | undefined;
  readonly #stopTimer: (() => void) | undefined;
  /** Sends the answer's items. */
  readonly #sender: ItemSender | undefined;
  /** Takes the caller's items. */
  readonly #queue: ItemQueue | undefined;
  /** Made when a handler asks for its signal: most never do, and it is a good part of what a call costs. */
  #controller: AbortController | undefined;
  #aborted: { readonly reason: Error } | undefined;
  #ended = false;

  constructor(frame: CallFrame, method: Method, options: IncomingOptions, forget: (id: number) => void) {
    const { id, service, method: methodName, timeoutMs, window } = frame;
    this.#id = id;
    this.#name = { service, method: methodName };
    this.#method = method;
    this.#options = options;
    this.#forget = forget;
    if (timeoutMs !== null) {
      this.#expiresAt = performance.now() + timeoutMs;
      this.#stopTimer = startDeadline(timeoutMs, () => {
        this.abort(deadlineExceeded(this.#name, timeoutMs));
      });
    }
    if (method.kind === "serverStream" || method.kind === "bidiStream") this.#sender = new ItemSender(window);
    if (method.kind === "clientStream" || method.kind === "bidiStream") {
      this.#queue = new ItemQueue(
        Math.max(options.windowBytes, firstInputCredit),
        firstInputCredit,
        (bytes) => {
          options.send({ kind: frameKinds.inputCredit, id, bytes });
        },
        (value) => validate(method.input, value, "input", service, methodName),
      );
    }
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  get timeoutMs(): number | undefined {
    return this.#expiresAt === undefined ? undefined : Math.max(1, this.#expiresAt - performance.now());
  }

  get identity(): Identity | undefined {
    return this.#options.identity;
  }

  /** Takes a frame about this call. */
  receive(frame: Exclude<CallerFrame, CallFrame>, bytes: number): void {
    switch (frame.kind) {
      case frameKinds.cancel:
        this.abort(cancelledByCaller(this.#name, frame.reason));
        return;
      case frameKinds.credit:
        if (this.#sender === undefined) throw badFrame("it grants room for a stream that there is not", { id: frame.id });
        this.#sender.grant(frame.bytes);
        return;
      case frameKinds.input:
      case frameKinds.inputEnd:
        if (this.#queue === undefined) throw badFrame("it belongs to a stream that there is not", { id: frame.id });
        if (frame.kind === frameKinds.input) this.#queue.push(frame.value, bytes);
        else this.#queue.end();
    }
  }

  /** Ends the call without an answer. */
  abort(reason: Error): void {
    if (this.#ended) return;
    this.#aborted = { reason };
    this.#queue?.fail(reason, true);
    this.#end();
    this.#controller?.abort(reason);
  }

  /** Starts the handler; at once where the schema answers at once, so that handlers start in the order of the calls. */
  run(handler: Handler, input: unknown): void {
    try {
      if (this.#queue !== undefined) {
        this.#queue.open();
        this.#answer(handler(this.#queue.items(), this));
        return;
      }
      const checked = validate(this.#method.input, input, "input", this.#name.service, this.#name.method);
      if (checked instanceof Promise) this.#settle(checked.then((value) => handler(value, this)));
      else this.#answer(handler(checked, this));
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Awaits nothing that is there already: a turn of the queue of promises is a good part of what a call costs. */
  #answer(answer: unknown): void {
    if (this.#sender !== undefined) this.#stream(this.#sender, answer as Items<unknown>).catch((error: unknown) => this.#fail(error));
    else if (isPromiseLike(answer)) this.#settle(answer);
    else this.#finish(answer);
  }

  #settle(answer: PromiseLike<unknown>): void {
    answer.then((value) => (this.#sender === undefined ? this.#finish(value) : this.#answer(value))).then(undefined, (error: unknown) => this.#fail(error));
  }

  #finish(value: unknown): void {
    const checked = validate(this.#method.output, value, "output", this.#name.service, this.#name.method);
    if (checked instanceof Promise) checked.then(() => this.#reply({ kind: frameKinds.result, id: this.#id, value })).catch((error: unknown) => this.#fail(error));
    else this.#reply({ kind: frameKinds.result, id: this.#id, value });
  }

  #fail(error: unknown): void {
    this.#reply({ kind: frameKinds.error, id: this.#id, error: errorToWire(error) });
  }

  async #stream(sender: ItemSender, items: Items<unknown>): Promise<void> {
    const { output } = this.#method;
    const { service, method } = this.#name;
    const sendItem = (value: unknown): number => this.#options.send({ kind: frameKinds.item, id: this.#id, value });
    const complete = await sender.send(items, (value) => {
      const checked = validate(output, value, "output", service, method);
      return checked instanceof Promise ? checked.then(() => sendItem(value)) : sendItem(value);
    });
    if (complete) this.#reply({ kind: frameKinds.end, id: this.#id });
  }

  #reply(frame: Frame): void {
    if (this.#ended) return;
    this.#end();
    try {
      this.#options.send(frame);
    } catch (error) {
      // An answer that cannot be sent: the codec's or the connection's own error, which is short.
      this.#options.send({ kind: frameKinds.error, id: this.#id, error: errorToWire(error) });
    }
  }

  #end(): void {
    this.#ended = true;
    this.#stopTimer?.();
    this.#forget(this.#id);
    this.#sender?.stop();
    // What a handler left of the caller's items must not be waited for by whoever still holds them.
    this.#queue?.fail(new MarinError("DUCKY_CANCELLED", `The call of ${this.#name.service}.${this.#name.method} has ended.`, { data: { ...this.#name } }), true);
  }
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
