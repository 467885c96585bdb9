import { errorFromWire, errorToWire, MarinError } from "@marin/ducky";
import { shared, type CurrentActor, type CurrentCall } from "../shared.js";
import { fromPayload, toPayload } from "../worker/payload.js";
import { actorRestore, actorSnapshot } from "./hooks.js";
import type { ActorDescription, ActorSnapshot, MethodKinds, StoredAnswer } from "./messages.js";
import { Queue } from "./queue.js";
import type { ActorTarget, CallControl, CallReply, CallRequest, StreamControl, StreamRequest, StreamSink } from "./target.js";

type Method = (...args: unknown[]) => unknown;
type Iterating = AsyncIterator<unknown> | Iterator<unknown>;

/** Settings of an actor that its host needs to know. */
export interface CellOptions {
  /** How many calls run at a time. */
  readonly maxConcurrency: number;
  /** How many calls may wait for their turn. */
  readonly mailboxLimit: number;
  /** A snapshot is taken after so many calls. */
  readonly snapshotEvery: number;
}

/** Answers kept of idempotent calls whose callers have not said that they have them. */
const maxAnswers = 1_000;

/** One turn of an actor: runs when fewer than `maxConcurrency` others do. */
interface Turn {
  /** Undefined when it has ended; else a promise of it that does not fail. */
  run(): Promise<void> | undefined;
}

/** A call as the code that runs in it sees it. The signal is made only when somebody asks. */
class RunningCall implements CurrentCall {
  readonly actor: CurrentActor;
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;

  constructor(actor: CurrentActor) {
    this.actor = actor;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#aborted !== undefined;
  }

  abort(reason: unknown): void {
    this.#aborted ??= { reason };
    this.#controller?.abort(reason);
  }
}

/** What a turn needs of its actor. */
interface CellInner {
  readonly instance: unknown;
  readonly calls: Set<RunningCall>;
  stopped(): MarinError | undefined;
  /** Whether the next call to end is one after which a snapshot is taken. */
  snapshotDue(): boolean;
  settle(call: CallTurn, result: PromiseLike<unknown>): Promise<void>;
}

/** A call of a method, from its arrival to its answer. */
class CallTurn extends RunningCall implements Turn {
  reply: CallReply;
  readonly #cell: CellInner;
  readonly #method: Method;
  readonly #args: readonly unknown[];

  constructor(actor: CurrentActor, cell: CellInner, method: Method, args: readonly unknown[], reply: CallReply) {
    super(actor);
    this.#cell = cell;
    this.#method = method;
    this.#args = args;
    this.reply = reply;
  }

  cancel(reason: unknown): void {
    this.abort(reason);
  }

  run(): Promise<void> | undefined {
    const cell = this.#cell;
    const stopped = cell.stopped();
    if (this.aborted || stopped !== undefined) {
      this.reply.error(stopped ?? new MarinError("FRAY_CANCELLED", "The call was cancelled before its turn.", { data: { ran: "no" } }));
      return undefined;
    }
    cell.calls.add(this);
    let result: unknown;
    try {
      result = shared.calls.run(this, invoke, this.#method, cell.instance, this.#args);
    } catch (error) {
      cell.calls.delete(this);
      this.reply.error(error);
      return undefined;
    }
    if (isPromise(result)) return cell.settle(this, result);
    if (cell.snapshotDue()) return cell.settle(this, Promise.resolve(result));
    cell.calls.delete(this);
    this.reply.result(result);
    return undefined;
  }
}

/** One object with its mailbox. Knows nothing of how messages get to it. */
export class ActorCell implements ActorTarget {
  readonly #instance: Readonly<Record<string, Method>>;
  readonly #actor: CurrentActor;
  readonly #options: CellOptions;
  readonly #methods: MethodKinds;
  readonly #keepSnapshot: ((snapshot: ActorSnapshot) => void) | undefined;
  readonly #waiting = new Queue<Turn>();
  readonly #calls = new Set<RunningCall>();
  readonly #streams = new Set<(reason: MarinError) => void>();
  readonly #inner: CellInner;
  readonly #answers = new Map<string, StoredAnswer>();
  readonly #askers = new Map<string, { readonly replies: CallReply[]; readonly call: CallTurn }>();
  #running = 0;
  #pumping = false;
  #sinceSnapshot = 0;
  #stopped: MarinError | undefined;
  #idle: () => void = () => undefined;

  /**
   * @param instance - the object
   * @param actor - who it is
   * @param options - see {@link CellOptions}
   * @param keepSnapshot - takes snapshots, where somebody keeps them
   */
  constructor(instance: object, actor: CurrentActor, options: CellOptions, keepSnapshot?: (snapshot: ActorSnapshot) => void) {
    this.#instance = instance as Readonly<Record<string, Method>>;
    this.#actor = actor;
    this.#options = options;
    this.#methods = methodsOf(instance, actor.name);
    this.#keepSnapshot = actorSnapshot in instance ? keepSnapshot : undefined;
    this.#inner = {
      instance,
      calls: this.#calls,
      stopped: () => this.#stopped,
      snapshotDue: () => this.#snapshotDue(),
      settle: (call, result) => this.#settle(call, result),
    };
  }

  /** Gives it the state of an earlier incarnation. */
  async restore({ state, answers }: ActorSnapshot): Promise<void> {
    for (const [key, answer] of answers) this.#answers.set(key, answer);
    if (actorRestore in this.#instance) await this.#inside(() => (this.#instance as unknown as { [actorRestore](state: unknown): unknown })[actorRestore](state));
  }

  describe(): ActorDescription {
    return { methods: this.#methods, incarnation: this.#actor.incarnation };
  }

  call(request: CallRequest, reply: CallReply): CallControl {
    const { method, args, key } = request;
    const earlier = key === undefined ? undefined : this.#askAgain(key, reply);
    if (earlier !== undefined) return earlier;
    const refusal = this.#refusal(method, "call");
    if (refusal !== undefined) {
      reply.error(refusal);
      return { cancel: () => undefined };
    }
    const turn = new CallTurn(this.#actor, this.#inner, this.#instance[method] as Method, args, reply);
    if (key !== undefined) turn.reply = this.#remembering(key, reply, turn);
    this.#take(turn);
    return turn;
  }

  stream(request: StreamRequest, sink: StreamSink): StreamControl {
    const refusal = this.#refusal(request.method, "stream");
    if (refusal === undefined) return this.#startStream(request, sink);
    sink.error(refusal);
    return { grant: () => undefined, cancel: () => undefined };
  }

  forget(key: string): void {
    this.#answers.delete(key);
  }

  /** Refuses what waits, aborts what runs, and is fulfilled once all has ended and the object is disposed of. */
  async stop(reason: MarinError): Promise<void> {
    this.#stopped ??= reason;
    for (const call of this.#calls) call.abort(reason);
    for (const end of [...this.#streams]) end(reason);
    // What waits does not wait for what runs to end: it is refused now.
    for (let turn = this.#waiting.shift(); turn !== undefined; turn = this.#waiting.shift()) this.#start(turn);
    if (this.#running > 0 || this.#waiting.length > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
    const instance = this.#instance as unknown as Partial<AsyncDisposable & Disposable>;
    if (instance[Symbol.asyncDispose] !== undefined) await this.#inside(() => instance[Symbol.asyncDispose]?.());
    else await this.#inside(() => instance[Symbol.dispose]?.());
  }

  async #settle(call: CallTurn, result: PromiseLike<unknown>): Promise<void> {
    const { reply } = call;
    try {
      const value = await result;
      if (this.#keepSnapshot !== undefined && ++this.#sinceSnapshot >= this.#options.snapshotEvery) {
        // Answers to calls are part of the state that they left: one that is made again after a restart is answered and not run.
        reply.beforeSnapshot?.(value);
        await this.#snapshot(call);
      }
      this.#calls.delete(call);
      reply.result(value);
    } catch (error) {
      this.#calls.delete(call);
      reply.error(error);
    }
  }

  #snapshotDue(): boolean {
    if (this.#keepSnapshot === undefined) return false;
    if (this.#sinceSnapshot + 1 >= this.#options.snapshotEvery) return true;
    this.#sinceSnapshot += 1;
    return false;
  }

  async #snapshot(call: RunningCall): Promise<void> {
    this.#sinceSnapshot = 0;
    const state = await shared.calls.run(call, async () => (this.#instance as unknown as { [actorSnapshot](): unknown })[actorSnapshot]());
    this.#keepSnapshot?.({ state, answers: [...this.#answers] });
  }

  /** A call that has been made before gets its answer, now or when there is one, and is not run again. Gives what cancels it. */
  #askAgain(key: string, reply: CallReply): CallControl | undefined {
    const answer = this.#answers.get(key);
    if (answer !== undefined) {
      if ("value" in answer) reply.result(fromPayload(answer.value));
      else reply.error(errorFromWire(answer.error));
      return { cancel: () => undefined };
    }
    const asking = this.#askers.get(key);
    asking?.replies.push(reply);
    return asking?.call;
  }

  #remembering(key: string, reply: CallReply, call: CallTurn): CallReply {
    const replies = [reply];
    this.#askers.set(key, { replies, call });
    let kept = false;
    const keep = (answer: StoredAnswer): void => {
      if (kept) return;
      kept = true;
      if (this.#answers.size >= maxAnswers) this.#answers.delete(this.#answers.keys().next().value as string);
      this.#answers.set(key, answer);
    };
    return {
      beforeSnapshot: (value) => {
        keep({ value: toPayload(value, "The result of an idempotent call") });
      },
      result: (value) => {
        try {
          keep({ value: toPayload(value, "The result of an idempotent call") });
        } catch {
          // Whoever asks is told the same by the channel.
        }
        this.#askers.delete(key);
        for (const each of replies) each.result(value);
      },
      error: (error) => {
        // A refused call has not run: making it again is right.
        if (!isRefusal(error)) keep({ error: errorToWire(error) });
        this.#askers.delete(key);
        for (const each of replies) each.error(error);
      },
    };
  }

  #startStream({ method, args, window, skip }: StreamRequest, sink: StreamSink): StreamControl {
    const call = new RunningCall(this.#actor);
    let iterator: Iterating | undefined;
    let credit = window;
    let toSkip = skip;
    let busy = true;
    let ended = false;
    const finish = (tell: () => void): void => {
      if (ended) return;
      ended = true;
      this.#calls.delete(call);
      this.#streams.delete(stop);
      tell();
    };
    const stop = (reason: MarinError): void => {
      finish(() => sink.error(reason));
      leave();
    };
    this.#streams.add(stop);
    const take = (result: IteratorResult<unknown>): void => {
      busy = false;
      if (ended) return;
      if (result.done === true) return finish(() => sink.end());
      try {
        if (toSkip > 0) toSkip -= 1;
        else {
          credit -= 1;
          sink.item(result.value);
        }
      } catch (error) {
        finish(() => sink.error(error));
        leave();
        return;
      }
      more();
    };
    const fail = (error: unknown): void => {
      busy = false;
      finish(() => sink.error(error));
    };
    const step: Turn = {
      run: () => {
        if (ended || iterator === undefined) {
          busy = false;
          return undefined;
        }
        try {
          const result = shared.calls.run(call, next, iterator);
          if (isPromise(result)) return (result as Promise<IteratorResult<unknown>>).then(take, fail);
          take(result as IteratorResult<unknown>);
        } catch (error) {
          fail(error);
        }
        return undefined;
      },
    };
    /** Other calls have their turns between two items. */
    const more = (): void => {
      if (busy || ended || iterator === undefined || (credit <= 0 && toSkip <= 0)) return;
      busy = true;
      this.#take(step);
    };
    const leave = (): void => {
      this.#take({
        run: () => {
          const left = iterator;
          return left === undefined ? undefined : this.#inside(async () => void (await left.return?.(undefined)), call).catch(() => undefined);
        },
      });
    };
    this.#take({
      run: () => {
        if (ended) return undefined;
        this.#calls.add(call);
        try {
          iterator = shared.calls.run(call, invoke, this.#instance[method] as Method, this.#instance, args) as Iterating;
          busy = false;
        } catch (error) {
          fail(error);
        }
        more();
        return undefined;
      },
    });
    return {
      grant: (items) => {
        credit += items;
        more();
      },
      cancel: (reason) => {
        if (ended) return;
        finish(() => undefined);
        call.abort(reason);
        leave();
      },
    };
  }

  #refusal(method: string, kind: "call" | "stream"): MarinError | undefined {
    const { name, incarnation } = this.#actor;
    if (this.#stopped !== undefined) return this.#stopped;
    if (this.#methods[method] !== kind) {
      const methods = Object.keys(this.#methods);
      return new MarinError("FRAY_UNKNOWN_METHOD", `The actor "${name}" has no ${kind === "stream" ? "generator method" : "method"} "${method}"; it has ${methods.join(", ")}.`, { data: { actor: name, method, methods } });
    }
    const { mailboxLimit, maxConcurrency } = this.#options;
    if (this.#running < maxConcurrency || this.#waiting.length < mailboxLimit) return undefined;
    return new MarinError("FRAY_MAILBOX_FULL", `The actor "${name}" has ${this.#waiting.length} calls waiting, as many as its mailboxLimit allows: ${method} was not run. Wait for answers before making more calls.`, {
      data: { actor: name, method, incarnation, limit: mailboxLimit, ran: "no" },
    });
  }

  #take(turn: Turn): void {
    this.#waiting.push(turn);
    this.#pump();
  }

  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    while (this.#running < this.#options.maxConcurrency) {
      const turn = this.#waiting.shift();
      if (turn === undefined) break;
      this.#start(turn);
    }
    this.#pumping = false;
    if (this.#running === 0 && this.#waiting.length === 0) this.#idle();
  }

  #start(turn: Turn): void {
    this.#running += 1;
    const ended = turn.run();
    if (ended === undefined) this.#running -= 1;
    else void ended.then(this.#onEnded);
  }

  readonly #onEnded = (): void => {
    this.#running -= 1;
    this.#pump();
  };

  async #inside<T>(work: () => T | PromiseLike<T>, call = new RunningCall(this.#actor)): Promise<T> {
    return shared.calls.run(call, async () => work());
  }
}

function invoke(method: Method, instance: unknown, args: readonly unknown[]): unknown {
  return method.apply(instance, args as unknown[]);
}

function next(iterator: Iterating): unknown {
  return iterator.next();
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

function isRefusal(error: unknown): boolean {
  return error instanceof MarinError && error.data["ran"] === "no";
}

/** What a handle has of its own. */
const reserved = ["then", "with", "actor", "toJSON"];

function methodsOf(object: object, actor: string): MethodKinds {
  const kinds: Record<string, "call" | "stream"> = {};
  for (let owner: object | null = object; owner !== null && owner !== Object.prototype; owner = Object.getPrototypeOf(owner) as object | null) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(owner)) as [string, PropertyDescriptor][]) {
      if (typeof value !== "function" || name === "constructor" || name in kinds) continue;
      kinds[name] = /Generator/.test((value as () => void).constructor.name) ? "stream" : "call";
    }
  }
  const taken = reserved.find((name) => name in kinds);
  if (taken !== undefined) {
    throw new MarinError("FRAY_BAD_ACTOR", `The actor "${actor}" has a method "${taken}", which its handle needs for itself (${reserved.join(", ")}). Name it otherwise.`, { data: { actor, method: taken } });
  }
  return kinds;
}
