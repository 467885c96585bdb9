import type { ChildProcess } from "node:child_process";
import type { MessagePort, TransferListItem } from "node:worker_threads";
import { MarinError, type Transport } from "@marin/ducky";
import { fromPayload, toPayload } from "../worker/payload.js";
import { messageKinds } from "./messages.js";

/** One message of the protocol between a caller and a host of actors; see `messages.ts`. */
export type ActorMessage = readonly unknown[];

/** Carries messages, in order, between whoever calls actors and whoever hosts them. */
export interface ActorChannel {
  /**
   * Sends a message; does nothing once closed. What it holds is read before this returns, so it may be changed afterwards.
   *
   * @param message - plain data by the rules of structured clone
   * @param transfer - what is handed over: it is gone here afterwards, in every kind of channel
   * @throws MarinError FRAY_NOT_CLONABLE, FRAY_MESSAGE_TOO_LARGE, FRAY_BACKLOG
   */
  send(message: ActorMessage, transfer?: readonly TransferListItem[]): void;
  /** Sets the receiver; what came before waits for it. */
  onMessage(receive: (message: unknown) => void): void;
  /** Sets who is told, once, that nothing will come any more. */
  onClose(closed: (cause?: Error) => void): void;
  /** Ends it after what has been sent. */
  close(): void;
}

/** Sent by the end that closes. */
const goodbye = null;

function notClonable(cause: unknown): MarinError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new MarinError("FRAY_NOT_CLONABLE", `An argument, result or item of an actor cannot be sent: ${why} Send plain data, and name functions by their module with entry().`, { cause });
}

/** Between threads: structured clone, without bytes in between; what is handed over is not copied. */
export function portChannel(port: MessagePort): ActorChannel {
  let ended = false;
  let closed: (cause?: Error) => void = () => undefined;
  const end = (cause?: Error): void => {
    if (ended) return;
    ended = true;
    port.close();
    closed(cause);
  };
  port.once("messageerror", end);
  port.once("close", () => {
    end();
  });
  return {
    send(message, transfer) {
      if (ended) return;
      // Node would send it all the same, and the other end could not read the message.
      checkPresent(transfer);
      try {
        port.postMessage(message, transfer);
      } catch (cause) {
        throw notClonable(cause);
      }
    },
    onMessage(receive) {
      port.on("message", (message: unknown) => {
        if (message === goodbye) end();
        else if (!ended) receive(message);
      });
    },
    onClose(handler) {
      closed = handler;
    },
    close() {
      if (!ended) port.postMessage(goodbye);
      end();
    },
  };
}

/** Two ends within a thread. What is sent is a copy, as everywhere, and arrives in a later turn of the microtasks. */
export function memoryChannels(): readonly [ActorChannel, ActorChannel] {
  const ends: { receive: (message: unknown) => void; closed: () => void }[] = [0, 1].map(() => ({ receive: () => undefined, closed: () => undefined }));
  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    for (const each of ends) each.closed();
  };
  const channel = (own: 0 | 1): ActorChannel => ({
    send(message, transfer) {
      if (ended) return;
      checkPresent(transfer);
      let copy: unknown;
      try {
        copy = structuredClone(message, transfer === undefined ? undefined : { transfer: [...transfer] });
      } catch (cause) {
        throw notClonable(cause);
      }
      queueMicrotask(() => {
        ends[1 - own]?.receive(copy);
      });
    },
    onMessage(receive) {
      (ends[own] as (typeof ends)[number]).receive = receive;
    },
    onClose(closed) {
      (ends[own] as (typeof ends)[number]).closed = closed;
    },
    close: end,
  });
  return [channel(0), channel(1)];
}

/** Tells messages on a process's channel from those of others. */
const mark = "marin.fray.actor";

/** The part of `ChildProcess` and of `process` that is used. */
interface ProcessPeer {
  readonly connected?: boolean;
  send?(message: unknown, handle: undefined, options: undefined, sent: () => void): boolean;
  on(event: "message", listener: (message: unknown) => void): unknown;
  once(event: "disconnect", listener: () => void): unknown;
}

/** Between a process and its child, beside ducky's frames: Node serialises, so a message is written once. What is handed over is copied, and then taken from the sender. */
export function processChannel(peer: ChildProcess | NodeJS.Process): ActorChannel {
  const channel = peer as unknown as ProcessPeer;
  const nothing = (): void => undefined;
  return {
    send(message, transfer = []) {
      if (channel.connected !== true) return;
      checkPresent(transfer);
      checkHandedOver(transfer);
      try {
        channel.send?.([mark, message], undefined, undefined, nothing);
      } catch (cause) {
        throw notClonable(cause);
      }
      takeAway(transfer);
    },
    onMessage(receive) {
      channel.on("message", (message) => {
        if (Array.isArray(message) && message[0] === mark) receive(message[1]);
      });
    },
    onClose(handler) {
      channel.once("disconnect", () => {
        handler();
      });
    },
    // The worker's own end closes it.
    close: nothing,
  };
}

/** Limits of a {@link frameChannel}. */
export interface FrameLimits {
  /** Largest message, in bytes. */
  readonly maxMessageBytes: number;
  /** Bytes that may wait to be sent before further messages are refused. */
  readonly maxBacklogBytes: number;
}

/** Over anything that carries bytes. */
export function frameChannel(transport: Transport, { maxMessageBytes, maxBacklogBytes }: FrameLimits): ActorChannel {
  let ended = false;
  let closed: (cause?: Error) => void = () => undefined;
  const end = (cause?: Error): void => {
    if (ended) return;
    ended = true;
    transport.close();
    closed(cause);
  };
  transport.onClose(end);
  return {
    send(message, transfer = []) {
      if (ended) return;
      checkPresent(transfer);
      checkHandedOver(transfer);
      const bytes = toPayload(message, "An argument, result or item of an actor");
      if (bytes.byteLength > maxMessageBytes) {
        throw new MarinError("FRAY_MESSAGE_TOO_LARGE", `A message to an actor, or its answer, has ${bytes.byteLength} bytes; at most ${maxMessageBytes} are allowed. Stream it, or write it to storage and send its path.`, {
          data: { bytes: bytes.byteLength, limit: maxMessageBytes },
        });
      }
      const waiting = transport.bufferedBytes;
      if (waiting > maxBacklogBytes && (message[0] === messageKinds.call || message[0] === messageKinds.stream)) {
        throw new MarinError("FRAY_BACKLOG", `The other end does not read: ${waiting} bytes wait to be sent (at most ${maxBacklogBytes}).`, { data: { waiting, limit: maxBacklogBytes } });
      }
      transport.send(bytes);
      takeAway(transfer);
    },
    onMessage(receive) {
      transport.onMessage((bytes) => {
        if (ended) return;
        let message: unknown;
        try {
          message = fromPayload(bytes);
        } catch (cause) {
          end(new MarinError("FRAY_BAD_MESSAGE", "A received message is no serialised value. Both ends must run versions of Node that read each other's.", { cause }));
          return;
        }
        receive(message);
      });
    },
    onClose(handler) {
      closed = handler;
    },
    close() {
      end();
    },
  };
}

/** Refuses memory that was handed over before. */
function checkPresent(transfer: readonly TransferListItem[] = []): void {
  if (transfer.some((each) => each instanceof ArrayBuffer && isDetached(each))) throw notClonable(new Error("memory in it was handed over before, and is here no longer."));
}

/** `ArrayBuffer.prototype.detached` is there from Node 22 on. */
function isDetached(buffer: ArrayBuffer): boolean {
  if (buffer.byteLength > 0) return false;
  try {
    return new Uint8Array(buffer).length > 0;
  } catch {
    return true;
  }
}

function checkHandedOver(transfer: readonly TransferListItem[]): void {
  const other = transfer.find((each) => !(each instanceof ArrayBuffer));
  if (other === undefined) return;
  throw new MarinError("FRAY_NOT_TRANSFERABLE", `A ${other.constructor.name} can be handed over between threads only; to another process, array buffers alone.`, { data: { type: other.constructor.name } });
}

/** So that a program that goes on using what it has handed over fails in the same way whatever the kind of worker. */
function takeAway(transfer: readonly TransferListItem[]): void {
  for (const each of transfer) structuredClone(each, { transfer: [each as ArrayBuffer] });
}
