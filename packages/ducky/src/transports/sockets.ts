import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { MarinError } from "../errors.js";
import type { Identity } from "../identity.js";
import { admit, requireAdmission, type Admission } from "./admission.js";
import { keepAlive } from "./keep-alive.js";

/** How long a peer may take to answer a close. */
const closeGraceMs = 2_000;

/** How long a connection may take to come up, and a server to tell who wants it. */
const handshakeTimeoutMs = 10_000;

/** Characters of a refusal that are read, and some more. */
const maxAnswerText = 1_000;

/** What WebSockets of either side need. */
export interface SocketSettings {
  /** Largest message taken, in bytes. */
  readonly maxPayload: number;
  readonly keepAliveMs: number;
}

/** Makes WebSockets of requests that another HTTP server received. */
export interface SocketAcceptor {
  /** Makes a WebSocket of a request; the stream is destroyed where it is none. */
  accept(request: IncomingMessage, stream: Duplex, head: Buffer, onSocket: (socket: WebSocket) => void): void;
  /** Ends all that were made. */
  close(): Promise<void>;
}

/** Takes what upgrades to WebSockets. What that takes is loaded here, so that worker processes, which have no use for it, start without. */
export async function socketAcceptor({ maxPayload, keepAliveMs }: SocketSettings): Promise<SocketAcceptor> {
  const { WebSocketServer } = await import("ws");
  const sockets = new WebSocketServer({ noServer: true, maxPayload, perMessageDeflate: false });
  return {
    accept(request, stream, head, onSocket) {
      sockets.handleUpgrade(request, stream, head, (socket) => {
        keepAlive(socket, request.socket, keepAliveMs);
        onSocket(socket);
      });
    },
    async close() {
      await Promise.all([...sockets.clients].map(async (socket) => closeSocket(socket, 1001)));
    },
  };
}

/** A server of WebSockets that is listening. */
export interface SocketServer {
  readonly host: string;
  readonly port: number;
  /** Stops listening and ends all connections. */
  close(): Promise<void>;
}

/** What {@link serveSockets} needs. */
export interface SocketServerOptions extends SocketSettings, Admission {
  readonly host: string;
  readonly port: number;
  /** Why a request that was let in is refused; undefined to take it. */
  readonly refuse: (request: IncomingMessage) => string | undefined;
  readonly onSocket: (socket: WebSocket, request: IncomingMessage, identity: Identity | undefined) => void;
}

/**
 * Listens for WebSockets.
 *
 * @throws MarinError DUCKY_TOKEN_REQUIRED, DUCKY_LISTEN_FAILED
 */
export async function serveSockets(options: SocketServerOptions): Promise<SocketServer> {
  const { host, port, refuse, onSocket } = options;
  requireAdmission(host, options);
  const [{ createServer, STATUS_CODES }, acceptor] = await Promise.all([import("node:http"), socketAcceptor(options)]);
  const server = createServer((_request, response) => {
    response.writeHead(426, { "content-type": "text/plain" }).end("This address takes WebSocket connections only.\n");
  });
  /** Those about which is not decided yet: they belong to nobody who would end them. */
  const deciding = new Set<Duplex>();
  let closing = false;
  server.on("upgrade", (request, stream, head) => {
    const onError = (): void => undefined;
    stream.on("error", onError);
    deciding.add(stream);
    const timer = setTimeout(() => stream.destroy(), handshakeTimeoutMs);
    void admit(request, options).then((verdict) => {
      deciding.delete(stream);
      clearTimeout(timer);
      if (closing || stream.destroyed) return void stream.destroy();
      if ("status" in verdict) return refuseUpgrade(stream, `${verdict.status} ${STATUS_CODES[verdict.status] ?? "Error"}`, verdict.text);
      const reason = refuse(request);
      if (reason !== undefined) return refuseUpgrade(stream, "403 Forbidden", reason);
      stream.off("error", onError);
      acceptor.accept(request, stream, head, (socket) => onSocket(socket, request, verdict.identity));
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
      closing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const stream of deciding) stream.destroy();
      await acceptor.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Answers a request that does not become a WebSocket. */
function refuseUpgrade(stream: Duplex, status: string, text: string): void {
  stream.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}

/** What {@link dialSocket} needs. */
export interface DialOptions extends SocketSettings {
  readonly token: string | undefined;
  readonly signal: AbortSignal | undefined;
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
    socket = new Client(url, {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      maxPayload,
      perMessageDeflate: false,
      handshakeTimeout: handshakeTimeoutMs,
      // Masks protect what stands between a browser and a server from what a page sends. Here is no page, and zeros cost nothing to apply.
      generateMask: (mask) => mask.fill(0),
    });
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
        response.setEncoding("utf8").on("data", (part: string) => {
          if (text.length < maxAnswerText) text += part;
        });
        response.once("close", () => {
          request.destroy();
          reject(rejection(url, response.statusCode, text) ?? failed(`the server answered ${response.statusCode ?? "nothing"}${text === "" ? "" : `: ${text}`}`));
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
