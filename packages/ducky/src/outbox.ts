import { MarinError } from "./errors.js";
import { encodeFrame, frameKinds, type Frame } from "./frames.js";
import type { Transport } from "./transport.js";

/** Bytes of small frames that are sent as one message: what they cost is mostly the message. */
export const batchBytes = 16_384;

/** What an {@link Outbox} allows. */
export interface OutboxLimits {
  readonly peer: string;
  readonly maxMessageBytes: number;
  readonly maxBacklogBytes: number;
}

/** Sends frames, several in one message where they come at once: those of one turn of the event loop. */
export class Outbox {
  readonly #transport: Transport;
  readonly #limits: OutboxLimits;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #scheduled = false;
  readonly #flushLater = (): void => {
    this.#scheduled = false;
    this.flush();
  };

  constructor(transport: Transport, limits: OutboxLimits) {
    this.#transport = transport;
    this.#limits = limits;
  }

  /** Bytes that have not left this process yet. */
  get bufferedBytes(): number {
    return this.#waitingBytes + this.#transport.bufferedBytes;
  }

  /**
   * Sends a frame.
   *
   * @returns its bytes
   * @throws MarinError DUCKY_NOT_ENCODABLE, DUCKY_MESSAGE_TOO_LARGE; for a call DUCKY_BACKLOG
   */
  send(frame: Frame): number {
    const bytes = this.#encode(frame);
    const { length } = bytes;
    if (length > this.#limits.maxMessageBytes) throw tooLarge("to", this.#limits, length);
    if (frame.kind === frameKinds.call && this.bufferedBytes > this.#limits.maxBacklogBytes) throw backlog(this.#limits, this.bufferedBytes);
    if (length >= batchBytes) {
      this.flush();
      this.#transport.send(bytes);
      return length;
    }
    if (this.#waitingBytes + length > batchBytes) this.flush();
    this.#waiting.push(bytes);
    this.#waitingBytes += length;
    if (!this.#scheduled) {
      this.#scheduled = true;
      process.nextTick(this.#flushLater);
    }
    return length;
  }

  /** Hands everything to the transport. */
  flush(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const message = this.#waiting.length === 1 ? first : Buffer.concat(this.#waiting, this.#waitingBytes);
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#transport.send(message);
  }

  #encode(frame: Frame): Uint8Array {
    try {
      return encodeFrame(frame);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new MarinError("DUCKY_NOT_ENCODABLE", `A value for ${this.#limits.peer} cannot be sent: ${reason}. Send plain data, Maps, Sets, Dates, bigints and typed arrays.`, { cause });
    }
  }
}

/** The error of a message that is larger than allowed. */
export function tooLarge(direction: "to" | "from", { peer, maxMessageBytes: limit }: OutboxLimits, bytes: number): MarinError {
  return new MarinError(
    "DUCKY_MESSAGE_TOO_LARGE",
    `A message ${direction} ${peer} has ${bytes} bytes; at most ${limit} are allowed. Send it as a stream, or write it to storage and send its path.`,
    { data: { peer, bytes, limit } },
  );
}

/** The error of a call that finds too much waiting to be sent. */
export function backlog({ peer, maxBacklogBytes: limit }: OutboxLimits, buffered: number): MarinError {
  return new MarinError("DUCKY_BACKLOG", `${peer} does not read: ${buffered} bytes wait to be sent (at most ${limit}).`, { data: { peer, buffered, limit } });
}
