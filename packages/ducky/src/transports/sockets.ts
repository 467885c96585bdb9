import type { IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { MarinError } from "../errors.js";
import { authorization, isAuthorized, requireToken } from "../token.js";

/** Intervals of silence after which a peer is taken for gone. */
const silentIntervals = 3;

/** How long a peer may take to answer a close. */
const closeGraceMs = 2_000;

/** How long a connection may take to come up. */
const handshakeTimeoutMs = 10_000;

/** A server of WebSockets that is listening. */
export interface SocketServer {
  readonly host: string;
  readonly port: number;
  /** Stops listening and ends all connections. */
  close(): Promise<void>;
}

/** What {@link serveSockets} needs. */
export interface SocketServerOptions {
  readonly host: string;
  readonly port: number;
  readonly token: string | undefined;
  readonly maxPayload: number;
  readonly keepAliveMs: number;
  /** Why a request that carries the token is refused; undefined to take it. */
  readonly refuse: (request: IncomingMessage) => string | undefined;
  readonly onSocket: (socket: WebSocket, request: IncomingMessage) => void;
}

/**
 * Listens for WebSockets. What that takes is loaded here, so that worker processes, which have no use for it, start without.
 *
 * @throws MarinError DUCKY_TOKEN_REQUIRED, DUCKY_LISTEN_FAILED
 */
export async function serveSockets(options: SocketServerOptions): Promise<SocketServer> {
  const { host, port, token, maxPayload, keepAliveMs, refuse, onSocket } = options;
  requireToken(host, token);
  const [{ createServer }, { WebSocketServer }] = await Promise.all([import("node:http"), import("ws")]);
  const sockets = new WebSocketServer({ noServer: true, maxPayload, perMessageDeflate: false });
  const server = createServer((_request, response) => {
    response.writeHead(426, { "content-type": "text/plain" }).end("This address takes WebSocket connections only.\n");
  });
  server.on("upgrade", (request, stream, head) => {
    if (!isAuthorized(request, token)) {
      answer(stream, "401 Unauthorized", "The token is missing or wrong.");
      return;
    }
    const reason = refuse(request);
    if (reason !== undefined) {
      answer(stream, "403 Forbidden", reason);
      return;
    }
    sockets.handleUpgrade(request, stream, head, (socket) => {
      keepAlive(socket, request.socket, keepAliveMs);
      onSocket(socket, request);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      reject(new MarinError("DUCKY_LISTEN_FAILED", `Cannot listen on ${host}:${port}: ${cause.message}`, { data: { host, port }, cause }));
    });
    server.listen(port, host, resolve);
  });
  return {
    host,
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all([...sockets.clients].map(async (socket) => closeSocket(socket, 1001)));
      server.closeAllConnections();
      await closed;
    },
  };
}

function answer(stream: Duplex, status: string, text: string): void {
  stream.on("error", () => undefined);
  stream.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

/** What {@link dialSocket} needs. */
export interface DialOptions {
  readonly token: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly maxPayload: number;
  readonly keepAliveMs: number;
}

/**
 * Connects to a server of WebSockets. The socket is paused, so that nothing is lost before its messages are listened for.
 *
 * @throws MarinError DUCKY_UNAUTHORIZED, DUCKY_REFUSED, DUCKY_CONNECT_FAILED; the signal's reason
 */
export async function dialSocket(url: string, { token, signal, maxPayload, keepAliveMs }: DialOptions): Promise<WebSocket> {
  signal?.throwIfAborted();
  const { WebSocket: Client } = await import("ws");
  const failed = (why: string, cause?: unknown): MarinError =>
    new MarinError("DUCKY_CONNECT_FAILED", `Cannot connect to ${url}: ${why}`, { data: { url }, ...(cause === undefined ? {} : { cause }) });
  let socket: WebSocket;
  try {
    socket = new Client(url, { headers: authorization(token), maxPayload, perMessageDeflate: false, handshakeTimeout: handshakeTimeoutMs });
  } catch (cause) {
    throw failed(cause instanceof Error ? cause.message : String(cause), cause);
  }
  const onAbort = (): void => {
    socket.terminate();
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("upgrade", (response) => keepAlive(socket, response.socket, keepAliveMs));
      socket.once("open", () => {
        socket.pause();
        resolve();
      });
      socket.on("error", (cause) => {
        reject(failed(cause.message, cause));
      });
      socket.once("unexpected-response", (request, response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.once("close", () => {
          request.destroy();
          reject(rejection(url, response.statusCode, text) ?? failed(`the server answered ${response.statusCode ?? "nothing"}`));
        });
      });
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
  return socket;
}

function rejection(url: string, status: number | undefined, text: string): MarinError | undefined {
  if (status === 401) return new MarinError("DUCKY_UNAUTHORIZED", `${url} refused the connection: ${text}`, { data: { url } });
  if (status === 403) return new MarinError("DUCKY_REFUSED", `${url} refused the connection: ${text}`, { data: { url } });
  return undefined;
}

/** Ends a socket; by force when the other end does not answer. */
export async function closeSocket(socket: WebSocket, code: number, reason = ""): Promise<void> {
  if (socket.readyState === socket.CLOSED) return;
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const timer = setTimeout(() => socket.terminate(), closeGraceMs);
  socket.resume();
  socket.close(code, reason);
  await closed;
  clearTimeout(timer);
}

/** Asks for signs of life, and cuts a connection that gives none: one whose other end vanished would stay open for hours. */
function keepAlive(socket: WebSocket, stream: Socket, intervalMs: number): void {
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
