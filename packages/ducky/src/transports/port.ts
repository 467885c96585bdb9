import type { MessagePort, Worker } from "node:worker_threads";
import type { Transport } from "../transport.js";

/** Sent by the end that closes: a `Worker` has no close of its own. */
const goodbye = null;

/**
 * Messages over a channel between threads. Each message's memory is handed over, not copied.
 *
 * @param port - one end of a `MessageChannel`, `parentPort`, or a `Worker` itself
 */
export function portTransport(port: MessagePort | Worker): Transport {
  let ended = false;
  let receive: (message: Uint8Array) => void = () => undefined;
  let closed: (cause?: Error) => void = () => undefined;
  const onMessage = (message: unknown): void => {
    if (message === goodbye) end();
    else if (message instanceof Uint8Array) receive(message);
  };
  const end = (cause?: Error): void => {
    if (ended) return;
    ended = true;
    port.off("message", onMessage);
    if ("close" in port) port.close();
    closed(cause);
  };
  port.once("messageerror", end);
  port.once("close" in port ? "close" : "exit", () => {
    end();
  });
  return {
    send(message) {
      if (ended) return;
      // The codec's buffers are parts of larger ones, which a transfer would take away from it.
      const own = new Uint8Array(message);
      port.postMessage(own, [own.buffer]);
    },
    onMessage(handler) {
      receive = handler;
      port.on("message", onMessage);
    },
    onClose(handler) {
      closed = handler;
    },
    close() {
      if (!ended) port.postMessage(goodbye);
      end();
    },
    // A channel between threads has no buffer that could be asked.
    bufferedBytes: 0,
  };
}
