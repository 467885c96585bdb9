import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import { Connection, connectWebSocket, defineService, listenWebSocket, serverStream, unary, type Transport, type WebSocketServerHandle, type WebSocketServerOptions } from "../index.js";
import { silentProxy } from "../../test/silent-proxy.js";

const service = defineService("test.ws", {
  echo: unary({ input: z.unknown(), output: z.unknown() }),
  hang: unary({ input: z.null(), output: z.null() }),
  flood: serverStream({ input: z.null(), output: z.instanceof(Uint8Array) }),
});

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

let made = 0;
async function serve(options: Partial<WebSocketServerOptions> = {}): Promise<{ server: WebSocketServerHandle; connections: Connection[] }> {
  const connections: Connection[] = [];
  const server = await listenWebSocket({
    onConnection: (transport) =>
      connections.push(
        new Connection(transport).serve(service, {
          echo: (value) => value,
          hang: () => new Promise(() => undefined),
          async *flood() {
            for (made = 0; made < 2_000; made += 1) yield new Uint8Array(10_000);
          },
        }),
      ),
    ...options,
  });
  cleanups.push(() => server.close());
  return { server, connections };
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(() => "it did not fail", (error: unknown) => error);
}

test("calls over a WebSocket, one after the other and many at once", async () => {
  const { server } = await serve();
  const connection = new Connection(await connectWebSocket(server.url));
  const client = connection.client(service);
  const values = Array.from({ length: 500 }, (_, n) => ({ n, bytes: new Uint8Array(n) }));
  expect(await Promise.all(values.map((value) => client.echo(value)))).toEqual(values);
  const large = new Uint8Array(5_000_000).map((_, place) => place % 251);
  expect(Buffer.from((await client.echo(large)) as Uint8Array).equals(large)).toBe(true);
  connection.close();
});

test("a stream whose consumer is slow does not pile up", async () => {
  const { server } = await serve();
  const client = new Connection(await connectWebSocket(server.url), { streamWindowBytes: 2 ** 20 }).client(service);
  let taken = 0;
  for await (const item of client.flood(null)) {
    taken += 1;
    await new Promise((resolve) => setImmediate(resolve));
    expect((made - taken) * item.length).toBeLessThan(1.2 * 2 ** 20);
    if (taken === 1_500) break;
  }
});

test("the token is checked; a wrong one, a missing one and none at all on a reachable address are refused", async () => {
  const { server } = await serve({ token: "s3cret-token" });
  expect(await failure(connectWebSocket(server.url, { token: "s3cret-tokem" }))).toMatchObject({ code: "DUCKY_UNAUTHORIZED" });
  expect(await failure(connectWebSocket(server.url))).toMatchObject({ code: "DUCKY_UNAUTHORIZED" });
  const connection = new Connection(await connectWebSocket(server.url, { token: "s3cret-token" }));
  expect(await connection.client(service).echo(1)).toBe(1);
  connection.close();
  for (const host of ["0.0.0.0", "::", "10.1.2.3"]) expect(await failure(serve({ host }))).toMatchObject({ code: "DUCKY_TOKEN_REQUIRED", data: { host } });
  expect(await failure(serve({ token: "" }))).toMatchObject({ code: "DUCKY_TOKEN_REQUIRED" });
});

test("without a token, what a web page sends is refused", async () => {
  const { server, connections } = await serve();
  const socket = new WebSocket(server.url, { headers: { origin: "http://evil.example" } });
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
  expect(response.statusCode).toBe(401);
  expect(connections).toHaveLength(0);
  socket.on("error", () => undefined);
  socket.terminate();
});

test("nobody there, a port in use and an aborted signal are told", async () => {
  const { server } = await serve();
  expect(await failure(serve({ port: server.port }))).toMatchObject({ code: "DUCKY_LISTEN_FAILED", data: { port: server.port } });
  await server.close();
  expect(await failure(connectWebSocket(server.url))).toMatchObject({ code: "DUCKY_CONNECT_FAILED" });
  expect(await failure(connectWebSocket("http://nowhere.invalid:x"))).toMatchObject({ code: "DUCKY_CONNECT_FAILED" });
  const reason = new Error("too late");
  expect(await failure(connectWebSocket(server.url, { signal: AbortSignal.abort(reason) }))).toBe(reason);
});

test("when the server closes, and when the client vanishes, the other side's calls end", async () => {
  const { server, connections } = await serve();
  const connection = new Connection(await connectWebSocket(server.url));
  const call = failure(connection.client(service).hang(null));
  await connection.client(service).echo(1);
  await server.close();
  expect(await call).toMatchObject({ code: "DUCKY_CLOSED" });
  await Promise.all([connection.closed, connections[0]?.closed]);
});

test("text instead of frames ends the connection", async () => {
  const { server, connections } = await serve();
  const socket = new WebSocket(server.url);
  await once(socket, "open");
  socket.send("hello");
  expect(await once(socket, "close")).toMatchObject([1003, expect.anything()]);
  await connections[0]?.closed;
});

test("a connection on which nothing comes any more is cut at both ends", async () => {
  const { server, connections } = await serve({ keepAliveMs: 100 });
  const proxy = await silentProxy(server.port);
  cleanups.push(proxy.close);
  const connection = new Connection(await connectWebSocket(proxy.url, { keepAliveMs: 100 }));
  const client = connection.client(service);
  expect(await client.echo("alive")).toBe("alive");
  const call = failure(client.hang(null));
  proxy.hold();
  expect(await call).toMatchObject({ code: "DUCKY_CLOSED", cause: { code: "DUCKY_SOCKET_LOST", message: expect.stringContaining("gone or silent") } });
  await connections[0]?.closed;
});

test("a busy transport tells how much waits", async () => {
  let other: Transport | undefined;
  const server = await listenWebSocket({ onConnection: (transport) => (other = transport) });
  cleanups.push(() => server.close());
  const transport = await connectWebSocket(server.url);
  expect(transport.bufferedBytes).toBe(0);
  // Nobody reads at the other end, which stays paused.
  for (let n = 0; n < 30; n += 1) transport.send(new Uint8Array(1_000_000));
  expect(transport.bufferedBytes).toBeGreaterThan(10_000_000);
  const connection = new Connection(transport, { maxMessageBytes: 1_000_000 });
  expect(await failure(connection.client(service).echo(1))).toMatchObject({ code: "DUCKY_BACKLOG" });
  other?.close();
});
