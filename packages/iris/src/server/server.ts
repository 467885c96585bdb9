import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import type { Duplex } from "node:stream";
import { createAdaptorServer } from "@hono/node-server";
import { Connection, acceptWebSocket } from "@marin/ducky";
import { type Authenticator, type Principal, authChain, authRequest, isLoopback, loopbackTrust, redactor } from "@marin/rigging";
import type { IrisApi } from "../client/iris-api.js";
import { serveIrisApi } from "../client/iris-service.js";
import { type Logger, MarinError, isMarinError, silentLogger } from "../platform.js";
import { scopedApi } from "./access.js";
import { createApp } from "./app.js";
import type { BundleRoutes } from "./bundle-routes.js";
import { metricsPage } from "./metrics-page.js";
import { Queries } from "./query.js";

/** What a controller's server serves, and where. */
export interface IrisServerOptions extends BundleRoutes {
  /** The controller as this caller sees it: `name` is the user. */
  readonly api: (principal: Principal) => IrisApi;
  /** Takes each worker that dials in. Default: workers are refused. */
  readonly onWorker?: ((connection: Connection) => Promise<void>) | undefined;
  /** The controller's database, for queries. Default: queries are refused. */
  readonly database?: string | undefined;
  /** Address to listen on. Default "127.0.0.1". One that others reach needs `authenticators`. */
  readonly host?: string | undefined;
  /** Port. Default 0: any that is free. */
  readonly port?: number | undefined;
  /** Who tells who sends a request. Default: whoever is on this machine may do everything, nobody else anything. */
  readonly authenticators?: readonly Authenticator[] | undefined;
  /** Default: nothing is logged. */
  readonly log?: Logger | undefined;
}

/** A server that answers. */
export interface IrisServer extends AsyncDisposable {
  /** Where: "http://127.0.0.1:41234". */
  readonly url: string;
  /** Ends all connections and stops listening. Jobs go on. */
  close(): Promise<void>;
}

/** Connections at once at most, those of followers and workers included. */
const maxConnections = 2_000;

/** Milliseconds that a request may take to arrive, an upload included. */
const requestTimeoutMs = 300_000;

/** Bytes of a message on a WebSocket at most. */
const maxMessageBytes = 64 << 20;

/** Where WebSockets connect: clients, and workers. */
export const rpcPath = "/rpc";
export const workerPath = "/worker";

/**
 * Serves a controller over HTTP: the status page at /, its data below /api, bundles, outputs, /metrics for Prometheus, and ducky's calls on WebSockets at /rpc for clients and at /worker for
 * workers. Only /health is open to all.
 *
 * @throws MarinError IRIS_AUTH_REQUIRED for an address that others reach without authenticators; IRIS_ADDRESS when it can't be listened on
 */
export async function startIrisServer(options: IrisServerOptions): Promise<IrisServer> {
  const { api, onWorker, database, host = "127.0.0.1", port = 0, authenticators, log = silentLogger } = options;
  if (!isLoopback(host) && (authenticators === undefined || authenticators.length === 0)) {
    throw new MarinError("IRIS_AUTH_REQUIRED", `On ${host} others can reach the server: give it a way to tell who they are (the option authenticators), or listen on 127.0.0.1.`, { data: { host } });
  }
  const auth = authChain(authenticators ?? [loopbackTrust()]);
  const queries = database === undefined ? undefined : new Queries(database);
  const app = createApp({ ...options, queries, auth, metrics: metricsPage, log });
  const serverOptions = { requestTimeout: requestTimeoutMs, headersTimeout: 10_000, keepAliveTimeout: 5_000, maxHeaderSize: 16_384 };
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false, serverOptions }) as Server;
  server.maxConnections = maxConnections;
  const sockets = await acceptWebSocket({ maxMessageBytes });
  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const path = (request.url ?? "").split("?", 1)[0];
    const isWorker = path === workerPath && onWorker !== undefined;
    const principal = await auth.authorize(authRequest(request), { scope: isWorker ? "workers:join" : "jobs:read" });
    if (path !== rpcPath && !isWorker) throw new MarinError("IRIS_NOT_FOUND", "WebSockets connect at /rpc.", { data: { status: 404 } });
    if (principal === undefined || socket.destroyed) return void socket.destroy();
    sockets.upgrade(request, socket, head, {
      onConnection: (transport) => {
        const connection = new Connection(transport, { maxMessageBytes });
        if (isWorker) {
          onWorker(connection).catch((error: unknown) => {
            log.warn("a worker was not taken", { error: redactor.redact(error instanceof Error ? error.message : String(error)) });
            connection.close();
          });
        } else serveIrisApi(connection, scopedApi(api(principal), principal));
        closeAt(connection, principal.expiresAt);
      },
    });
  };
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => undefined);
    upgrade(request, socket, head).catch((error: unknown) => {
      refuse(socket, error, log);
    });
  });
  server.listen(port, host);
  await once(server, "listening").catch((cause: unknown) => {
    throw new MarinError("IRIS_ADDRESS", `Can't listen on ${host}, port ${String(port)}: ${(cause as Error).message}. Choose another address or port.`, { data: { host, port }, cause });
  });
  const address = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closing ??= (async () => {
      const closed = once(server, "close");
      server.close();
      await sockets.close();
      server.closeAllConnections();
      await closed;
      await queries?.close();
    })());
  const shownHost = isIP(address.address) === 6 ? `[${address.address}]` : address.address;
  return { url: `http://${shownHost}:${String(address.port)}`, close, [Symbol.asyncDispose]: close };
}

/** A connection does not outlive the credential that opened it. */
function closeAt(connection: Connection, expiresAt: number | undefined): void {
  if (expiresAt === undefined) return;
  // Timers hold 2^31 ms at most.
  const timer = setTimeout(() => connection.close(), Math.min(expiresAt - Date.now(), 2 ** 31 - 1));
  void connection.closed.then(() => clearTimeout(timer));
}

function refuse(socket: Duplex, error: unknown, log: Logger): void {
  const told = isMarinError(error) ? error.data["status"] : undefined;
  const status = typeof told === "number" ? told : 500;
  const reasons: Readonly<Record<number, string>> = { 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 503: "Service Unavailable" };
  if (status === 500) log.error("a connection failed", { error: redactor.redact(error instanceof Error ? error.message : String(error)) });
  const text = isMarinError(error) && status !== 500 ? redactor.redact(error.message) : "The server failed.";
  const challenge = isMarinError(error) && typeof error.data["challenge"] === "string" ? `WWW-Authenticate: ${error.data["challenge"]}\r\n` : "";
  socket.end(`HTTP/1.1 ${String(status)} ${reasons[status] ?? "Error"}\r\nConnection: close\r\n${challenge}Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${String(Buffer.byteLength(text))}\r\n\r\n${text}`);
}
