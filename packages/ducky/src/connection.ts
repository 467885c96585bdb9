import { connectionEnded } from "./call-errors.js";
import type { Caller, Methods, Service, ServiceClient, ServiceHandlers } from "./contract.js";
import { MarinError } from "./errors.js";
import { decodeMessage, frameKinds, longestFrame, type AnswerFrame, type CallerFrame, type Frame } from "./frames.js";
import { IncomingCalls } from "./incoming.js";
import { backlog, Outbox, tooLarge, type OutboxLimits } from "./outbox.js";
import { OutgoingCalls } from "./outgoing.js";
import { serviceClient, type MethodCalls } from "./service-client.js";
import type { Transport } from "./transport.js";

/** Settings of a {@link Connection}. */
export interface ConnectionOptions {
  /** What errors call the other end. Default: "the peer". */
  readonly peer?: string | undefined;
  /** Largest input, answer or item sent or taken, in bytes; from 4096 to 1 GiB. Default: 64 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Bytes that may wait to be sent before further calls are refused, in either direction; at twice as many the connection is ended. Default: four times `maxMessageBytes`. */
  readonly maxBacklogBytes?: number | undefined;
  /** Bytes of a stream's items that may be under way or wait for the consumer; one item more may overshoot it. At least 64 KiB for a caller's stream. Default: 4 MiB. */
  readonly streamWindowBytes?: number | undefined;
  /** Calls of the other end that may be at work here at a time. Default: 65 536. */
  readonly maxCalls?: number | undefined;
}

const mebibyte = 2 ** 20;

/** An error about a message that is too large must itself fit. */
const leastMaxMessageBytes = 4096;

const defaultMaxCalls = 65_536;

const callsOf = new WeakMap<Connection, MethodCalls>();

/** Makes calls on a connection by name. */
export function methodCalls(connection: Connection): MethodCalls {
  const calls = callsOf.get(connection);
  if (calls === undefined) throw new TypeError("not a Connection of this package");
  return calls;
}

/**
 * Typed calls between two ends of a transport. Both ends may serve services and call those of the other, any number of
 * calls at a time.
 *
 * What a call may end with, besides the error that the handler threw (name, code, message, data and causes survive) and the
 * reason of the caller's signal: MarinError DUCKY_INVALID_INPUT, DUCKY_INVALID_OUTPUT, DUCKY_DEADLINE_EXCEEDED, DUCKY_CLOSED, DUCKY_UNKNOWN_SERVICE,
 * DUCKY_UNKNOWN_METHOD, DUCKY_METHOD_MISMATCH, DUCKY_NOT_ENCODABLE, DUCKY_MESSAGE_TOO_LARGE, DUCKY_BACKLOG, DUCKY_TOO_MANY_CALLS, DUCKY_BAD_TIMEOUT.
 */
export class Connection implements Caller, AsyncDisposable {
  /** Fulfilled when the connection has ended, in whatever way. */
  readonly closed: Promise<void>;
  readonly #transport: Transport;
  readonly #limits: OutboxLimits;
  readonly #outbox: Outbox;
  readonly #incoming: IncomingCalls;
  readonly #outgoing: OutgoingCalls;
  #resolveClosed: () => void = () => undefined;
  #ended = false;

  /**
   * @param transport - used by nobody else
   * @param options - see {@link ConnectionOptions}
   * @throws MarinError DUCKY_BAD_LIMIT
   */
  constructor(transport: Transport, options: ConnectionOptions = {}) {
    const { peer = "the peer", maxMessageBytes = 64 * mebibyte, maxBacklogBytes = 4 * maxMessageBytes, streamWindowBytes: windowBytes = 4 * mebibyte, maxCalls = defaultMaxCalls } = options;
    if (!(maxMessageBytes >= leastMaxMessageBytes && maxMessageBytes <= longestFrame)) {
      throw new MarinError("DUCKY_BAD_LIMIT", `maxMessageBytes must be from ${leastMaxMessageBytes} to ${longestFrame}, found ${maxMessageBytes}.`, { data: { maxMessageBytes } });
    }
    this.#transport = transport;
    this.#limits = { peer, maxMessageBytes, maxBacklogBytes };
    this.#outbox = new Outbox(transport, this.#limits);
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve));
    const send = (frame: Frame): number => this.#send(frame);
    const overload = (): MarinError | undefined => {
      const buffered = this.#outbox.bufferedBytes;
      return buffered > maxBacklogBytes ? backlog(this.#limits, buffered) : undefined;
    };
    this.#incoming = new IncomingCalls({ send, identity: transport.identity, windowBytes, maxCalls, overload });
    this.#outgoing = new OutgoingCalls({ send, peer, windowBytes });
    callsOf.set(this, this.#outgoing);
    transport.onClose((cause) => {
      this.#end(cause);
    });
    transport.onMessage((message) => {
      this.#receive(message);
    });
  }

  /**
   * Offers a service to the other end.
   *
   * @param service - made by `defineService`
   * @param handlers - one function a method
   * @throws MarinError DUCKY_DUPLICATE_SERVICE, DUCKY_MISSING_HANDLER
   */
  serve<M extends Methods>(service: Service<M>, handlers: ServiceHandlers<M>): this {
    this.#incoming.serve(service, handlers);
    return this;
  }

  /**
   * The other end's service. Whether it serves it shows at the first call.
   *
   * @param service - made by `defineService`
   */
  client<M extends Methods>(service: Service<M>): ServiceClient<M> {
    return serviceClient(service, this.#outgoing);
  }

  /** Calls of this end that the other has not answered yet, open streams included: while there are any, this end may wait for nothing else. */
  get pendingCalls(): number {
    return this.#outgoing.size;
  }

  /** Ends the connection: calls still open fail with DUCKY_CLOSED at both ends, handlers at work have their signal aborted. */
  close(): void {
    this.#end(undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.closed;
  }

  #send(frame: Frame): number {
    if (this.#ended) return 0;
    const bytes = this.#outbox.send(frame);
    const { maxBacklogBytes } = this.#limits;
    // Calls are refused long before; answers and items are what a peer that does not read piles up.
    if (frame.kind !== frameKinds.call && this.#outbox.bufferedBytes > 2 * maxBacklogBytes) this.#end(backlog(this.#limits, this.#outbox.bufferedBytes));
    return bytes;
  }

  #receive(message: Uint8Array): void {
    if (this.#ended) return;
    try {
      decodeMessage(message, this.#limits.maxMessageBytes, this.#frameTooLarge, this.#take);
    } catch (error) {
      this.#end(error instanceof Error ? error : new Error(String(error)));
    }
  }

  readonly #frameTooLarge = (bytes: number): MarinError => tooLarge("from", this.#limits, bytes);

  readonly #take = (frame: Frame, bytes: number): void => {
    // What a message holds beyond the frame that ended the connection is not looked at.
    if (this.#ended) return;
    if (frame.kind <= frameKinds.inputEnd) this.#incoming.receive(frame as CallerFrame, bytes);
    else this.#outgoing.receive(frame as AnswerFrame, bytes);
  };

  #end(cause: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#outbox.flush();
    this.#transport.close();
    this.#outgoing.close(cause);
    this.#incoming.close(connectionEnded(this.#limits.peer, cause));
    this.#resolveClosed();
  }
}
