import { Backoff, pause, type BackoffOptions } from "./backoff.js";
import { channelClosed, closedFate, unavailable, type CallName } from "./call-errors.js";
import { Connection, methodCalls, type ConnectionOptions } from "./connection.js";
import type { BidiStreamMethod, Caller, CallOptions, ClientStreamMethod, Items, Methods, ServerStreamMethod, Service, ServiceClient, UnaryMethod } from "./contract.js";
import { isMarinError, MarinError } from "./errors.js";
import { serviceClient, type MethodCalls } from "./service-client.js";
import type { Transport } from "./transport.js";
import { connectWebSocket } from "./transports/websocket.js";

/** Settings of a {@link Channel}. */
export interface ChannelOptions extends ConnectionOptions {
  /** Where the other end is now: "ws://10.0.0.7:41234". Asked before each attempt to connect, so it may move. */
  readonly resolve: (signal: AbortSignal) => string | Promise<string>;
  /** What the server asks for; a function is asked before each attempt, so it may be renewed. Default: none. */
  readonly token?: string | (() => string | Promise<string>);
  /** Milliseconds that a call may wait for a connection; 0 fails it at once while there is none. Default: 30 000. */
  readonly maxWaitMs?: number;
  /** Milliseconds that one attempt to find and reach the other end may take. Default: 10 000. */
  readonly connectTimeoutMs?: number;
  /** Pauses between attempts. */
  readonly backoff?: BackoffOptions;
  /** How often an idempotent call is sent at most. Default: 10. */
  readonly maxAttempts?: number;
  /** Milliseconds between signs of life; a server silent for three times as long is taken for gone. Default: 20 000. */
  readonly keepAliveMs?: number;
  /** Takes each new connection before any call is made on it, for example to serve on it. */
  readonly onConnection?: (connection: Connection) => void;
  /** Reaches the other end. Default: `connectWebSocket`. */
  readonly connect?: (address: string, options: { readonly signal: AbortSignal; readonly token?: string }) => Promise<Transport>;
}

interface Waiter {
  readonly resolve: (connection: Connection) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Calls to another end that may go away, come back and move. It connects at the first call, and from then on stays connected: when the
 * connection is lost, the address is asked for anew, with growing pauses between attempts. Meanwhile calls wait. It keeps its process alive
 * until it is closed.
 *
 * A call is sent at most once. One that was not sent when the connection was lost is sent on the next; one that may have been carried out
 * fails with DUCKY_CLOSED, unless its method is `idempotent`. Streams that have begun are never begun again.
 *
 * What a call may end with besides what a {@link Connection} says: MarinError DUCKY_UNAVAILABLE when there was no connection in time (the
 * call was not sent), DUCKY_UNAUTHORIZED and DUCKY_REFUSED.
 */
export class Channel implements Caller, AsyncDisposable {
  readonly #options: ChannelOptions;
  readonly #maxWaitMs: number;
  readonly #backoff: Backoff;
  readonly #closing = new AbortController();
  readonly #waiting = new Set<Waiter>();
  #connection: Connection | undefined;
  #running: Promise<void> | undefined;
  #failure: unknown;

  /** @param options - see {@link ChannelOptions} */
  constructor(options: ChannelOptions) {
    this.#options = options;
    this.#maxWaitMs = options.maxWaitMs ?? 30_000;
    this.#backoff = new Backoff(options.backoff);
  }

  /**
   * The other end's service.
   *
   * @param service - made by `defineService`
   */
  client<M extends Methods>(service: Service<M>): ServiceClient<M> {
    return serviceClient(service, this.#calls);
  }

  /**
   * The connection there is, or the next.
   *
   * @param options - how long to wait; default `maxWaitMs`
   * @throws MarinError DUCKY_UNAVAILABLE, DUCKY_UNAUTHORIZED, DUCKY_REFUSED, DUCKY_CLOSED; the signal's reason
   */
  async connected({ signal, timeoutMs = Infinity }: CallOptions = {}): Promise<Connection> {
    signal?.throwIfAborted();
    if (this.#connection !== undefined) return this.#connection;
    if (this.#closing.signal.aborted) throw channelClosed(this.#peer, undefined);
    this.#running ??= this.#run();
    const waitMs = Math.min(this.#maxWaitMs, timeoutMs);
    if (waitMs <= 0 && this.#failure !== undefined) throw unavailable(this.#peer, 0, this.#failure);
    return new Promise((resolve, reject) => {
      const settle = <T>(finish: (value: T) => void) => (value: T): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        this.#waiting.delete(waiter);
        finish(value);
      };
      const waiter: Waiter = { resolve: settle(resolve), reject: settle(reject) };
      const onAbort = (): void => {
        waiter.reject(signal?.reason);
      };
      // With nothing known yet, even a call that does not wait gets the first attempt.
      const timer = waitMs <= 0 || waitMs > 2 ** 31 - 1 ? undefined : setTimeout(() => waiter.reject(unavailable(this.#peer, waitMs, this.#failure)), waitMs);
      signal?.addEventListener("abort", onAbort);
      this.#waiting.add(waiter);
    });
  }

  /** Whether there is a connection now. */
  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** Ends the connection, the attempts to get one, and all calls that wait or are under way. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const { reject } of [...this.#waiting]) reject(channelClosed(this.#peer, this.#failure));
    this.#connection?.close();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  get #peer(): string {
    return this.#options.peer ?? "the peer";
  }

  /** Keeps a connection, until the channel is closed. */
  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const connection = await this.#attempt();
        const begun = performance.now();
        this.#connection = connection;
        for (const { resolve } of [...this.#waiting]) resolve(connection);
        await connection.closed;
        this.#connection = undefined;
        this.#failure = new MarinError("DUCKY_CLOSED", `The connection to ${this.#peer} was lost.`, { data: { peer: this.#peer } });
        // One that ends as soon as it is made is no sign that things are well.
        if (performance.now() - begun >= this.#backoff.maxMs) this.#backoff.reset();
      } catch (error) {
        this.#failure = error;
        // Waiting helps against neither of these.
        const refused = isMarinError(error, "DUCKY_UNAUTHORIZED") || isMarinError(error, "DUCKY_REFUSED");
        if (refused || this.#maxWaitMs <= 0) {
          for (const { reject } of [...this.#waiting]) reject(refused ? error : unavailable(this.#peer, 0, error));
        }
      }
      await pause(this.#backoff.next(), signal);
    }
  }

  /** Finds and reaches the other end, once. */
  async #attempt(): Promise<Connection> {
    const { connectTimeoutMs = 10_000, onConnection } = this.#options;
    const controller = new AbortController();
    const stop = (): void => {
      controller.abort(channelClosed(this.#peer, undefined));
    };
    this.#closing.signal.addEventListener("abort", stop);
    const timer = setTimeout(() => {
      controller.abort(new MarinError("DUCKY_CONNECT_FAILED", `Cannot connect to ${this.#peer}: it was not reached within ${connectTimeoutMs} ms.`, { data: { peer: this.#peer, connectTimeoutMs } }));
    }, connectTimeoutMs);
    try {
      const connection = new Connection(await this.#reach(controller.signal), this.#options);
      if (this.#closing.signal.aborted) connection.close();
      else onConnection?.(connection);
      return connection;
    } finally {
      clearTimeout(timer);
      this.#closing.signal.removeEventListener("abort", stop);
    }
  }

  /** A transport; not waited for any longer than the signal allows, whatever the user's functions do. */
  #reach(signal: AbortSignal): Promise<Transport> {
    const { resolve: find, token, maxMessageBytes, keepAliveMs } = this.#options;
    const connect =
      this.#options.connect ??
      ((address, options) => connectWebSocket(address, { ...options, ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }), ...(keepAliveMs === undefined ? {} : { keepAliveMs }) }));
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      const reach = async (): Promise<void> => {
        const address = await find(signal);
        const given = typeof token === "function" ? await token() : token;
        const transport = await connect(address, { signal, ...(given === undefined ? {} : { token: given }) });
        if (signal.aborted) transport.close();
        else resolve(transport);
      };
      reach().catch(reject);
    });
  }

  readonly #calls: MethodCalls = {
    unary: async (name: CallName, method: UnaryMethod, input: unknown, options: CallOptions) => {
      const { maxAttempts = 10 } = this.#options;
      for (let attempt = 1, left = remaining(options); ; ) {
        const connection = await this.connected(left());
        try {
          return await methodCalls(connection).unary(name, method, input, left());
        } catch (error) {
          const fate = closedFate(error);
          if (fate === undefined || this.#closing.signal.aborted) throw error;
          if (fate === "lost" && (!method.idempotent || attempt >= maxAttempts)) throw error;
          if (fate === "lost") attempt += 1;
        }
        await this.#forget(connection);
      }
    },
    clientStream: async (name: CallName, method: ClientStreamMethod, items: Items<unknown>, options: CallOptions) => {
      for (const left = remaining(options); ; ) {
        const connection = await this.connected(left());
        try {
          return await methodCalls(connection).clientStream(name, method, items, left());
        } catch (error) {
          if (closedFate(error) !== "unsent" || this.#closing.signal.aborted) throw error;
        }
        await this.#forget(connection);
      }
    },
    serverStream: (name: CallName, method: ServerStreamMethod, input: unknown, options: CallOptions) =>
      this.#stream(options, (calls, left) => calls.serverStream(name, method, input, left)),
    bidiStream: (name: CallName, method: BidiStreamMethod, items: Items<unknown>, options: CallOptions) =>
      this.#stream(options, (calls, left) => calls.bidiStream(name, method, items, left)),
  };

  async *#stream(options: CallOptions, start: (calls: MethodCalls, left: CallOptions) => AsyncIterableIterator<unknown>): AsyncGenerator<unknown, void, void> {
    for (const left = remaining(options); ; ) {
      const connection = await this.connected(left());
      try {
        yield* start(methodCalls(connection), left());
        return;
      } catch (error) {
        if (closedFate(error) !== "unsent" || this.#closing.signal.aborted) throw error;
      }
      await this.#forget(connection);
    }
  }

  /** Waits until it is known here too that the connection has ended. */
  async #forget(connection: Connection): Promise<void> {
    await connection.closed;
    if (this.#connection === connection) this.#connection = undefined;
  }
}

/** The same options later: what is left of the time. */
function remaining({ signal, timeoutMs }: CallOptions): () => CallOptions {
  if (timeoutMs === undefined || !(timeoutMs > 0)) return () => ({ signal, timeoutMs });
  const expiresAt = performance.now() + timeoutMs;
  return () => ({ signal, timeoutMs: Math.max(1, expiresAt - performance.now()) });
}
