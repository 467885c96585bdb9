/**
 * Carries whole frames, in order, to one peer and back. What {@link Connection} works over; made by `processTransport`,
 * `portTransport`, `connectWebSocket` and `listenWebSocket`.
 */
export interface Transport {
  /** Sends a frame. The bytes must not be changed afterwards. Does nothing once closed. */
  send(frame: Uint8Array): void;
  /** Sets the receiver of frames; those that came before wait for it. */
  onFrame(receive: (frame: Uint8Array) => void): void;
  /** Sets who is told, once, that no frame will come any more; `cause` when it was not a close of either side. */
  onClose(closed: (cause?: Error) => void): void;
  /** Ends it after the frames sent so far. */
  close(): void;
  /** Bytes handed to `send` that have not left this process yet. */
  readonly bufferedBytes: number;
}
