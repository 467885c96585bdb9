import { connectionClosed } from "./call-errors.js";
import type { CallOptions, Methods, Service, ServiceClient, ServiceHandlers } from "./contract.js";
import { MarinError } from "./errors.js";
import { decodeFrame, encodeFrame, frameKinds, type Frame } from "./frames.js";
import { IncomingCalls } from "./incoming.js";
import { OutgoingCalls } from "./outgoing.js";
import type { Transport } from "./transport.js";

/** Settings of a {@link Connection}. */
export interface ConnectionOptions {
  /** What errors call the other end. Default: "the peer". */
  readonly peer?: string;
  /** Largest frame sent or taken, in bytes; at least 4096. Default: 64 MiB. */
  readonly maxMessageBytes?: number;
  /** Bytes that may wait to be sent before further calls are refused. Default: four times `maxMessageBytes`. */
  readonly maxBacklogBytes?: number;
  /** Bytes of a stream's items that may be under way or wait for the consumer; one item more may overshoot it. Default: 1 MiB. */
  readonly streamWindowBytes?: number;
}

const mebibyte = 2 ** 20;

/** An error about a message that is too large must itself fit. */
const leastMaxMessageBytes = 4096;

/**
 * Typed calls between two ends of a transport. Both ends may serve services and call those of the other, any number of
 * calls at a time.
 *
 * What a call may end with, besides the error that the handler threw (name, code, message, data and causes survive) and the
 * reason of the caller's signal: MarinError DUCKY_INVALID_INPUT, DUCKY_INVALID_OUTPUT, DUCKY_DEADLINE_EXCEEDED, DUCKY_CLOSED, DUCKY_UNKNOWN_SERVICE,
 * DUCKY_UNKNOWN_METHOD, DUCKY_METHOD_MISMATCH, DUCKY_NOT_ENCODABLE, DUCKY_MESSAGE_TOO_LARGE, DUCKY_BACKLOG, DUCKY_BAD_TIMEOUT.
 */
export class Connection {
  /** Fulfilled when the connection has ended, in whatever way. */
  readonly closed: Promise<void>;
  readonly #transport: Transport;
  readonly #peer: string;
  readonly #maxMessageBytes: number;
  readonly #maxBacklogBytes: number;
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
    this.#transport = transport;
    this.#peer = options.peer ?? "the peer";
    this.#maxMessageBytes = options.maxMessageBytes ?? 64 * mebibyte;
    if (!(this.#maxMessageBytes >= leastMaxMessageBytes)) {
      throw new MarinError("DUCKY_BAD_LIMIT", `maxMessageBytes must be at least ${leastMaxMessageBytes}, found ${this.#maxMessageBytes}.`, { data: { maxMessageBytes: this.#maxMessageBytes } });
    }
    this.#maxBacklogBytes = options.maxBacklogBytes ?? 4 * this.#maxMessageBytes;
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve));
    this.#incoming = new IncomingCalls((frame) => this.#send(frame));
    this.#outgoing = new OutgoingCalls((frame) => this.#send(frame), this.#peer, options.streamWindowBytes ?? mebibyte);
    transport.onClose((cause) => {
      this.#end(cause);
    });
    transport.onFrame((bytes) => {
      this.#receive(bytes);
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
    const calls = Object.entries(service.methods).map(([method, definition]) => {
      const name = { service: service.name, method };
      const call =
        definition.kind === "unary"
          ? (input: unknown, options: CallOptions = {}) => this.#outgoing.unary(name, definition, input, options)
          : (input: unknown, options: CallOptions = {}) => this.#outgoing.stream(name, definition, input, options);
      return [method, call];
    });
    return Object.freeze(Object.fromEntries(calls)) as ServiceClient<M>;
  }

  /** Calls of this end that the other has not answered yet, open streams included: while there are any, this end may wait for nothing else. */
  get pendingCalls(): number {
    return this.#outgoing.size;
  }

  /** Ends the connection: calls still open fail with DUCKY_CLOSED at both ends, handlers at work have their signal aborted. */
  close(): void {
    this.#end(undefined);
  }

  #send(frame: Frame): number {
    if (this.#ended) return 0;
    let bytes: Uint8Array;
    try {
      bytes = encodeFrame(frame);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new MarinError("DUCKY_NOT_ENCODABLE", `A value for ${this.#peer} cannot be sent: ${reason}. Send plain data, Maps, Sets, Dates, bigints and typed arrays.`, { cause });
    }
    if (bytes.length > this.#maxMessageBytes) throw this.#tooLarge("to", bytes.length);
    const buffered = this.#transport.bufferedBytes;
    if (frame.kind === frameKinds.call && buffered > this.#maxBacklogBytes) {
      throw new MarinError("DUCKY_BACKLOG", `${this.#peer} does not read: ${buffered} bytes wait to be sent (at most ${this.#maxBacklogBytes}).`, {
        data: { peer: this.#peer, buffered, limit: this.#maxBacklogBytes },
      });
    }
    this.#transport.send(bytes);
    return bytes.length;
  }

  #receive(bytes: Uint8Array): void {
    if (this.#ended) return;
    try {
      if (bytes.length > this.#maxMessageBytes) throw this.#tooLarge("from", bytes.length);
      const frame = decodeFrame(bytes);
      if (frame.kind <= frameKinds.credit) this.#incoming.receive(frame as Parameters<IncomingCalls["receive"]>[0]);
      else this.#outgoing.receive(frame as Parameters<OutgoingCalls["receive"]>[0], bytes.length);
    } catch (error) {
      this.#end(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #tooLarge(direction: "to" | "from", bytes: number): MarinError {
    return new MarinError(
      "DUCKY_MESSAGE_TOO_LARGE",
      `A message ${direction} ${this.#peer} has ${bytes} bytes; at most ${this.#maxMessageBytes} are allowed. Send it as a stream, or write it to storage and send its path.`,
      { data: { peer: this.#peer, bytes, limit: this.#maxMessageBytes } },
    );
  }

  #end(cause: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#transport.close();
    this.#outgoing.close(cause);
    this.#incoming.close(connectionClosed(this.#peer, undefined, cause));
    this.#resolveClosed();
  }
}
