import type { EventEmitter } from "node:events";
import { createServer, connect, type AddressInfo, type Server, type Socket } from "node:net";
import type { RawData, WebSocket } from "ws";
import { MarinError } from "./errors.js";
import { closeSocket, dialSocket, serveSockets } from "./transports/sockets.js";

/** Settings of {@link serveTunnel}. */
export interface TunnelServerOptions {
  /** What whoever opens a tunnel must carry. */
  readonly token: string;
  /** The only addresses it leads to, as "host:port". */
  readonly allow: readonly string[];
  /** Address to listen on. Default: "127.0.0.1". */
  readonly host?: string;
  /** Port. Default: 0, a free one. */
  readonly port?: number;
}

/** A relay that is listening. */
export interface TunnelServer extends AsyncDisposable {
  /** What `openTunnel` takes as its `relay`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Ends it and every connection that goes through it. */
  close(): Promise<void>;
}

/** Settings of {@link openTunnel}. */
export interface TunnelOptions {
  /** URL of the relay. */
  readonly relay: string;
  /** The relay's token. */
  readonly token: string;
  /** Where the tunnel leads, seen from the relay, as "host:port". */
  readonly target: string;
  /** Port on this machine's 127.0.0.1. Default: 0, a free one. */
  readonly localPort?: number;
  /** Ends the attempt when aborted. Default: never. */
  readonly signal?: AbortSignal;
}

/** The near end of a tunnel. */
export interface Tunnel extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Ends it and every connection that goes through it. */
  close(): Promise<void>;
}

/** Bytes of one direction of one connection that may be under way. */
const windowBytes = 2 ** 20;
const maxPayload = 2 * windowBytes;
const keepAliveMs = 20_000;
const connectTimeoutMs = 10_000;

/** Why a WebSocket of a tunnel is closed, besides 1000: both directions have ended. */
const closeCodes = { broken: 4000, unreachable: 4001 } as const;

/**
 * Relays TCP connections to addresses that only this machine can reach, for whoever carries the token.
 *
 * @throws MarinError DUCKY_BAD_TARGET, DUCKY_TOKEN_REQUIRED, DUCKY_LISTEN_FAILED
 */
export async function serveTunnel({ token, allow, host = "127.0.0.1", port = 0 }: TunnelServerOptions): Promise<TunnelServer> {
  const allowed = new Set(allow.map((target) => formatTarget(parseTarget(target))));
  const targets = new Set<Socket>();
  const targetOf = (url: string | undefined): string => new URL(url ?? "", "ws://relay").searchParams.get("target") ?? "";
  const server = await serveSockets({
    host,
    port,
    token,
    authenticate: undefined,
    maxPayload,
    keepAliveMs,
    refuse: ({ url }) => (allowed.has(targetOf(url)) ? undefined : `The relay does not lead to "${targetOf(url)}".`),
    onSocket: (socket, { url }) => {
      if (new URL(url ?? "", "ws://relay").searchParams.has("check")) {
        void closeSocket(socket, 1000);
        return;
      }
      socket.pause();
      const target = connect({ ...parseTarget(targetOf(url)), allowHalfOpen: true, timeout: connectTimeoutMs });
      track(targets, target);
      const fail = (reason: string): void => {
        target.destroy();
        void closeSocket(socket, closeCodes.unreachable, reason);
      };
      const onError = (error: Error): void => {
        fail(error.message);
      };
      target.once("error", onError);
      target.once("timeout", () => {
        fail("the connection timed out");
      });
      target.once("connect", () => {
        target.off("error", onError);
        target.removeAllListeners("timeout").setTimeout(0);
        join(target, socket);
      });
      socket.once("close", () => {
        if (target.connecting) target.destroy();
      });
    },
  });
  const close = async (): Promise<void> => {
    for (const target of targets) target.resetAndDestroy();
    await server.close();
  };
  return { ...server, url: `ws://${host.includes(":") ? `[${host}]` : host}:${server.port}`, close, [Symbol.asyncDispose]: close };
}

/**
 * Opens a port on this machine that leads to the target behind the relay. Each TCP connection to it gets one of its own
 * through the relay. That the relay lets it through is checked at once; whether the target answers shows with each connection: one
 * that cannot be made is reset.
 *
 * @throws MarinError DUCKY_BAD_TARGET, DUCKY_UNAUTHORIZED, DUCKY_REFUSED, DUCKY_CONNECT_FAILED, DUCKY_LISTEN_FAILED; the signal's reason
 */
export async function openTunnel({ relay, token, target, localPort = 0, signal }: TunnelOptions): Promise<Tunnel> {
  const url = new URL(relay);
  url.searchParams.set("target", formatTarget(parseTarget(target)));
  const dial = { token, maxPayload, keepAliveMs };
  await closeSocket(await dialSocket(`${url.href}&check`, { ...dial, signal }), 1000);
  const controller = new AbortController();
  const locals = new Set<Socket>();
  const joined = new Set<WebSocket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (local) => {
    track(locals, local);
    local.once("error", () => undefined);
    dialSocket(url.href, { ...dial, signal: controller.signal }).then(
      (socket) => {
        track(joined, socket);
        join(local, socket);
      },
      () => {
        local.resetAndDestroy();
      },
    );
  });
  const port = await listenLocally(server, localPort);
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    controller.abort();
    for (const local of locals) local.resetAndDestroy();
    await Promise.all([closed, ...[...joined].map(async (socket) => closeSocket(socket, 1000))]);
  };
  return { host: "127.0.0.1", port, close, [Symbol.asyncDispose]: close };
}

/** Joins a TCP connection with a WebSocket: bytes as binary messages; as text, "end" of a direction and "+n" for bytes that have been taken. */
function join(tcp: Socket, socket: WebSocket): void {
  let credit = windowBytes;
  let taken = 0;
  let otherEnded = false;
  let broken = false;
  if (socket.readyState === socket.CLOSED) tcp.destroy();
  if (tcp.destroyed) {
    void closeSocket(socket, 1000);
    return;
  }
  const say = (message: string | Buffer): void => {
    if (socket.readyState === socket.OPEN) socket.send(message);
  };
  tcp.on("data", (chunk) => {
    say(chunk);
    credit -= chunk.length;
    if (credit <= 0) tcp.pause();
  });
  tcp.once("end", () => {
    say("end");
  });
  tcp.on("error", () => (broken = true));
  tcp.once("close", () => {
    void closeSocket(socket, broken ? closeCodes.broken : 1000);
  });
  socket.on("message", (data: RawData, isBinary: boolean) => {
    const bytes = data as Buffer;
    if (isBinary) {
      tcp.write(bytes, () => {
        taken += bytes.length;
        if (taken < windowBytes / 4) return;
        say(`+${taken}`);
        taken = 0;
      });
      return;
    }
    const text = bytes.toString();
    if (text === "end") {
      otherEnded = true;
      tcp.end();
    } else if (/^\+\d{1,9}$/.test(text)) {
      credit += Number(text);
      if (credit > 0) tcp.resume();
    } else {
      socket.close(1002, "unknown message");
    }
  });
  socket.once("close", (code) => {
    // After an orderly end the rest is still being written out; any other must not look like one.
    if (code !== 1000 || !otherEnded) tcp.resetAndDestroy();
  });
  socket.resume();
  tcp.resume();
}

/** Keeps the sockets that are open in a set. */
export function track<T extends EventEmitter>(sockets: Set<T>, socket: T): T {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
  return socket;
}

/** Listens on 127.0.0.1; gives the port. */
export async function listenLocally(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      reject(new MarinError("DUCKY_LISTEN_FAILED", `Cannot listen on 127.0.0.1:${port}: ${cause.message}`, { data: { host: "127.0.0.1", port }, cause }));
    });
    server.listen(port, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** The parts of an address. */
export function parseTarget(target: string): { readonly host: string; readonly port: number } {
  const [, six, host = six, digits] = /^(?:\[([^\]]+)\]|([^:\s/]+)):(\d{1,5})$/.exec(target) ?? [];
  const port = Number(digits);
  if (host === undefined || !(port >= 1 && port <= 65_535)) {
    throw new MarinError("DUCKY_BAD_TARGET", `A tunnel's target is "host:port" with a port from 1 to 65535, found "${target}".`, { data: { target } });
  }
  return { host, port };
}

/** An address as text. */
export function formatTarget({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
