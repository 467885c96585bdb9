import type { WebSocket } from "ws";
import { MarinError } from "../errors.js";
import type { Transport } from "../transport.js";
import { closeSocket, dialSocket, serveSockets } from "./sockets.js";

/** Default of `maxMessageBytes`. */
const defaultMaxMessageBytes = 64 * 2 ** 20;

/** Default of `keepAliveMs`. */
const defaultKeepAliveMs = 20_000;

/** Settings of {@link connectWebSocket}. */
export interface WebSocketOptions {
  /** What the server asks for. Default: none. */
  readonly token?: string;
  /** Ends the attempt when aborted. Default: never. */
  readonly signal?: AbortSignal;
  /** Largest message taken, in bytes. Default: 64 MiB. */
  readonly maxMessageBytes?: number;
  /** Milliseconds between signs of life; a peer silent for three times as long is taken for gone. Default: 20 000. */
  readonly keepAliveMs?: number;
}

/** Settings of {@link listenWebSocket}. */
export interface WebSocketServerOptions {
  /** Address to listen on. Default: "127.0.0.1"; any that other machines can reach needs a token. */
  readonly host?: string;
  /** Port. Default: 0, a free one. */
  readonly port?: number;
  /** What clients must carry. Default: none, which is for loopback only; requests that a web page sends are refused then. */
  readonly token?: string;
  /** Takes each client. */
  readonly onConnection: (transport: Transport) => void;
  /** Largest message taken, in bytes. Default: 64 MiB. */
  readonly maxMessageBytes?: number;
  /** Milliseconds between signs of life; a client silent for three times as long is taken for gone. Default: 20 000. */
  readonly keepAliveMs?: number;
}

/** A server that is listening. */
export interface WebSocketServerHandle {
  /** What clients connect to: "ws://127.0.0.1:41234". */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Stops listening and ends all connections. */
  close(): Promise<void>;
}

/**
 * Connects to a server made by {@link listenWebSocket}.
 *
 * @param url - "ws://127.0.0.1:41234"
 * @throws MarinError DUCKY_UNAUTHORIZED, DUCKY_CONNECT_FAILED; the signal's reason
 */
export async function connectWebSocket(url: string, options: WebSocketOptions = {}): Promise<Transport> {
  const { token, signal, maxMessageBytes = defaultMaxMessageBytes, keepAliveMs = defaultKeepAliveMs } = options;
  return socketTransport(await dialSocket(url, { token, signal, maxPayload: maxMessageBytes, keepAliveMs }));
}

/**
 * Listens for clients. The token is compared in a time that does not depend on it.
 *
 * @throws MarinError DUCKY_TOKEN_REQUIRED, DUCKY_LISTEN_FAILED
 */
export async function listenWebSocket(options: WebSocketServerOptions): Promise<WebSocketServerHandle> {
  const { host = "127.0.0.1", port = 0, token, onConnection, maxMessageBytes = defaultMaxMessageBytes, keepAliveMs = defaultKeepAliveMs } = options;
  const server = await serveSockets({
    host,
    port,
    token,
    maxPayload: maxMessageBytes,
    keepAliveMs,
    refuse: () => undefined,
    onSocket: (socket) => {
      socket.pause();
      onConnection(socketTransport(socket));
    },
  });
  return { ...server, url: `ws://${host.includes(":") ? `[${host}]` : host}:${server.port}` };
}

/** Frames as binary messages. The socket is paused until somebody takes them. */
function socketTransport(socket: WebSocket): Transport {
  let closed: (cause?: Error) => void = () => undefined;
  let failure: Error | undefined;
  let ended: { readonly cause?: Error } | undefined;
  socket.on("error", (error) => (failure = error));
  socket.once("close", (code, reason) => {
    const orderly = code === 1000 || code === 1001;
    const why = failure?.message ?? (reason.length > 0 ? reason.toString() : code === 1006 ? "the peer is gone or silent" : `close code ${code}`);
    ended = orderly ? {} : { cause: new MarinError("DUCKY_SOCKET_LOST", `The WebSocket ended without a close: ${why}.`, { data: { code }, ...(failure === undefined ? {} : { cause: failure }) }) };
    closed(ended.cause);
  });
  return {
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
