import type { Socket } from "node:net";
import type { WebSocket } from "ws";

/** Intervals of silence after which a peer is taken for gone. */
const silentIntervals = 3;

/** Asks for signs of life, and cuts a connection that gives none: one whose other end vanished would stay open for hours. */
export function keepAlive(socket: WebSocket, stream: Socket, intervalMs: number): void {
  let bytesRead = stream.bytesRead;
  let silent = 0;
  const timer = setInterval(() => {
    silent = stream.bytesRead === bytesRead && !socket.isPaused ? silent + 1 : 0;
    bytesRead = stream.bytesRead;
    if (silent >= silentIntervals) socket.terminate();
    else socket.ping();
  }, intervalMs);
  timer.unref();
  socket.once("close", () => {
    clearInterval(timer);
  });
  // Ping of a socket that is closing: the close is told by its own event.
  socket.on("error", () => undefined);
}
