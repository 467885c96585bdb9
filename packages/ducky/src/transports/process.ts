import type { ChildProcess } from "node:child_process";
import { MarinError } from "../errors.js";
import type { Transport } from "../transport.js";

/** The part of `ChildProcess` and of `process` that is used. */
interface Channel {
  readonly connected?: boolean;
  send?(message: unknown, handle: undefined, options: undefined, sent: (error: Error | null) => void): boolean;
  disconnect?(): void;
  on(event: "message", listener: (message: unknown) => void): unknown;
  once(event: "disconnect", listener: () => void): unknown;
  off(event: "message", listener: (message: unknown) => void): unknown;
}

/**
 * Messages over Node's channel between a process and its child (`stdio: [..., "ipc"]`, `serialization: "advanced"`). Messages
 * that are no bytes belong to others and are left alone, so that a module that uses `process.send` itself does no harm.
 *
 * @param peer - the child in the parent; `process` in the child
 * @throws MarinError DUCKY_NO_CHANNEL when there is no channel
 */
export function processTransport(peer: ChildProcess | NodeJS.Process): Transport {
  const channel = peer as unknown as Channel;
  if (channel.send === undefined) {
    throw new MarinError("DUCKY_NO_CHANNEL", 'The process has no IPC channel: start it with stdio: ["ignore", "pipe", "pipe", "ipc"] and serialization: "advanced".');
  }
  let buffered = 0;
  let ended = false;
  let disconnecting = false;
  let receive: ((message: unknown) => void) | undefined;
  let closed: (cause?: Error) => void = () => undefined;
  const end = (cause?: Error): void => {
    if (ended) return;
    ended = true;
    if (receive !== undefined) channel.off("message", receive);
    closed(cause);
  };
  /** A disconnect drops what the channel has not written yet. */
  const disconnectWhenSent = (): void => {
    if (disconnecting && buffered === 0 && channel.connected === true) channel.disconnect?.();
  };
  channel.once("disconnect", () => {
    end();
  });
  return {
    send(message) {
      if (ended || disconnecting || channel.connected !== true) return;
      buffered += message.byteLength;
      channel.send?.(message, undefined, undefined, (error) => {
        buffered -= message.byteLength;
        if (error !== null) end(error);
        disconnectWhenSent();
      });
    },
    onMessage(handler) {
      receive = (message) => {
        if (message instanceof Uint8Array) handler(message);
      };
      channel.on("message", receive);
    },
    onClose(handler) {
      closed = handler;
      if (channel.connected !== true) queueMicrotask(end);
    },
    close() {
      disconnecting = true;
      disconnectWhenSent();
      end();
    },
    get bufferedBytes() {
      return buffered;
    },
  };
}
