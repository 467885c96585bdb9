import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { MarinError } from "../errors.js";
import type { Authenticate, Identity } from "../identity.js";
import { batchBytes } from "../outbox.js";
import type { Transport } from "../transport.js";
import { closeSocket, dialSocket, serveSockets, socketAcceptor, type SocketSettings } from "./sockets.js";

/** Default of `maxMessageBytes`. */
const defaultMaxMessageBytes = 64 * 2 ** 20;

/** Default of `keepAliveMs`. */
const defaultKeepAliveMs = 20_000;

/** The longest delay that timers can wait. */
const maxTimerMs = 2 ** 31 - 1;

/** Settings of WebSockets on either side. */
export interface WebSocketSettings {
  /** Largest input, answer or item taken, in bytes. Default: 64 MiB. */
  readonly maxMessageBytes?: number;
  /** Milliseconds between signs of life; a peer silent for three times as long is taken for gone. Default: 20 000. */
  readonly keepAliveMs?: number;
}

/** Settings of {@link connectWebSocket}. */
export interface WebSocketOptions extends WebSocketSettings {
  /** What the server asks for. Default: none. */
  readonly token?: string;
  /** Ends the attempt when aborted. Default: never. */
  readonly signal?: AbortSignal;
}

/** Settings of {@link listenWebSocket}. */
export interface WebSocketServerOptions extends WebSocketSettings {
  /** Address to listen on. Default: "127.0.0.1"; any that other machines can reach needs a token or `authenticate`. */
  readonly host?: string;
  /** Port. Default: 0, a free one. */
  readonly port?: number;
  /** What clients must carry. Default: none, which is for loopback only; requests that a web page sends are refused then. */
  readonly token?: string;
  /** Tells who a client is, in place of `token`; handlers see it as `call.identity`. Requests of other sites' pages do not reach it unless they carry an Authorization header. */
  readonly authenticate?: Authenticate;
  /** Takes each client. */
  readonly onConnection: (transport: Transport) => void;
}

/** A server that is listening. */
export interface WebSocketServerHandle extends AsyncDisposable {
  /** What clients connect to: "ws://127.0.0.1:41234". */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Stops listening and ends all connections. */
  close(): Promise<void>;
}

/** Takes connections on a server of the user's own. Made by {@link acceptWebSocket}. */
export interface WebSocketAcceptor {
  /**
   * Takes one request: what that server's "upgrade" event gives.
   *
   * @param client - `identity`: who it is, where that was found out; `onConnection` takes it
   */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, client: { readonly identity?: Identity | undefined; readonly onConnection: (transport: Transport) => void }): void;
  /** Ends all connections that were made. The server is the user's to close. */
  close(): Promise<void>;
}

/**
 * Connects to a server made by {@link listenWebSocket}.
 *
 * @param url - "ws://127.0.0.1:41234", or "wss://..." where the server stands behind TLS
 * @throws MarinError DUCKY_UNAUTHORIZED, DUCKY_REFUSED, DUCKY_CONNECT_FAILED; the signal's reason
 */
export async function connectWebSocket(url: string, options: WebSocketOptions = {}): Promise<Transport> {
  const { token, signal } = options;
  return socketTransport(await dialSocket(url, { token, signal, ...settingsOf(options) }), undefined);
}

/**
 * Listens for clients. The token is compared in a time that does not depend on it.
 *
 * @throws MarinError DUCKY_TOKEN_REQUIRED, DUCKY_LISTEN_FAILED
 */
export async function listenWebSocket(options: WebSocketServerOptions): Promise<WebSocketServerHandle> {
  const { host = "127.0.0.1", port = 0, token, authenticate, onConnection } = options;
  const server = await serveSockets({
    host,
    port,
    token,
    authenticate,
    ...settingsOf(options),
    refuse: () => undefined,
    onSocket: (socket, _request, identity) => {
      socket.pause();
      onConnection(socketTransport(socket, identity));
    },
  });
  return { ...server, url: `ws://${host.includes(":") ? `[${host}]` : host}:${server.port}`, [Symbol.asyncDispose]: () => server.close() };
}

/**
 * Takes connections on an HTTP or HTTPS server of the user's own, beside what that serves otherwise. That server tells first whether the
 * request may come in, and who it is: nothing is checked here.
 */
export async function acceptWebSocket(settings: WebSocketSettings = {}): Promise<WebSocketAcceptor> {
  const acceptor = await socketAcceptor(settingsOf(settings));
  return {
    upgrade(request, stream, head, { identity, onConnection }) {
      acceptor.accept(request, stream, head, (socket) => {
        socket.pause();
        onConnection(socketTransport(socket, identity));
      });
    },
    close: () => acceptor.close(),
  };
}

function settingsOf({ maxMessageBytes = defaultMaxMessageBytes, keepAliveMs = defaultKeepAliveMs }: WebSocketSettings): SocketSettings {
  return { maxPayload: Math.max(maxMessageBytes, batchBytes), keepAliveMs };
}

/** Messages as binary ones. The socket is paused until somebody takes them. */
function socketTransport(socket: WebSocket, identity: Identity | undefined): Transport {
  let closed: (cause?: Error) => void = () => undefined;
  let failure: Error | undefined;
  let ended: { readonly cause?: Error } | undefined;
  socket.on("error", (error) => (failure = error));
  const stopExpiry = onExpiry(identity, () => void closeSocket(socket, 1008, "the credential has ended"));
  socket.once("close", (code, reason) => {
    stopExpiry();
    const orderly = code === 1000 || code === 1001;
    const why = failure?.message ?? (reason.length > 0 ? reason.toString() : code === 1006 ? "the peer is gone or silent" : `close code ${code}`);
    ended = orderly ? {} : { cause: new MarinError("DUCKY_SOCKET_LOST", `The WebSocket ended without a close: ${why}.`, { data: { code }, ...(failure === undefined ? {} : { cause: failure }) }) };
    closed(ended.cause);
  });
  return {
    identity,
    send(message) {
      if (socket.readyState === socket.OPEN) socket.send(message, { binary: true });
    },
    onMessage(receive) {
      socket.on("message", (data, isBinary) => {
        if (isBinary) receive(data as Buffer);
        else socket.close(1003, "frames are binary");
      });
      socket.resume();
    },
    onClose(handler) {
      closed = handler;
      if (ended !== undefined) handler(ended.cause);
    },
    close() {
      void closeSocket(socket, 1000);
    },
    get bufferedBytes() {
      return socket.bufferedAmount;
    },
  };
}

/** Calls back when the identity's credential ends; gives what stops it. */
function onExpiry(identity: Identity | undefined, expired: () => void): () => void {
  if (identity?.expiresAt === undefined) return () => undefined;
  const { expiresAt } = identity;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const left = expiresAt - Date.now();
    timer = left > 0 ? setTimeout(wait, Math.min(left, maxTimerMs)) : setTimeout(expired, 0);
    timer.unref();
  };
  wait();
  return () => {
    clearTimeout(timer);
  };
}
