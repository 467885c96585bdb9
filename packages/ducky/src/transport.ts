import type { Identity } from "./identity.js";

/**
 * Carries whole messages, in order, to one peer and back. What {@link Connection} works over; made by `processTransport`,
 * `portTransport`, `connectWebSocket` and `listenWebSocket`.
 */
export interface Transport {
  /** Sends a message. The bytes must not be changed afterwards. Does nothing once closed. */
  send(message: Uint8Array): void;
  /** Sets the receiver of messages; those that came before wait for it. */
  onMessage(receive: (message: Uint8Array) => void): void;
  /** Sets who is told, once, that no message will come any more; `cause` when it was not a close of either side. */
  onClose(closed: (cause?: Error) => void): void;
  /** Ends it after the messages sent so far. */
  close(): void;
  /** Bytes handed to `send` that have not left this process yet. */
  readonly bufferedBytes: number;
  /** Who is at the other end, where the transport asked. */
  readonly identity?: Identity | undefined;
}
