import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { acceptWebSocket, Channel, clientStream, Connection, connectWebSocket, defineService, isMarinError, listenWebSocket, MarinError, serverStream, unary, type ChannelOptions, type WebSocketServerHandle, type WebSocketServerOptions } from "./index.js";
import { silentProxy } from "../test/silent-proxy.js";

/** Waits for a condition, however busy the machine is. */
const until: typeof expect.poll = (read) => expect.poll(read, { timeout: 20_000 });

const service = defineService("test.counter", {
  add: unary({ input: z.number(), output: z.number() }),
  read: unary({ input: z.null(), output: z.number(), idempotent: true }),
  hang: unary({ input: z.string(), output: z.string() }),
  hangIdempotent: unary({ input: z.string(), output: z.string(), idempotent: true }),
  count: serverStream({ input: z.number(), output: z.number() }),
  sum: clientStream({ input: z.number(), output: z.number() }),
  failing: unary({ input: z.null(), output: z.null(), idempotent: true }),
});

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A service that may stop and start again, at another port each time; what it has done outlives it. */
function counter(options: Partial<WebSocketServerOptions> = {}) {
  const state = { total: 0, calls: [] as string[], connections: [] as Connection[], server: undefined as WebSocketServerHandle | undefined, resolved: 0 };
  const start = async (): Promise<void> => {
    state.server = await listenWebSocket({
      ...options,
      onConnection: (transport) => {
        const connection = new Connection(transport).serve(service, {
          add: (n) => (state.total += n),
          read: () => state.total,
          hang: (name) => (state.calls.push(name), new Promise(() => undefined)),
          hangIdempotent: (name) => (state.calls.push(name), state.calls.length < 3 ? new Promise(() => undefined) : name),
          async *count(to) {
            for (let n = 0; n < to; n += 1) yield n;
            await new Promise(() => undefined);
          },
          async sum(numbers) {
            let sum = 0;
            for await (const n of numbers) sum += n;
            return sum;
          },
          failing: () => {
            state.calls.push("failing");
            throw new MarinError("TEST_FAILED", "it fails");
          },
        });
        state.connections.push(connection);
      },
    });
  };
  const stop = async (): Promise<void> => {
    await state.server?.close();
    state.server = undefined;
  };
  /** As a crash would: no goodbye from the service. */
  const drop = (): void => {
    for (const connection of state.connections.splice(0)) connection.close();
  };
  cleanups.push(stop);
  const resolve = (): string => {
    state.resolved += 1;
    if (state.server === undefined) throw new MarinError("TEST_NOWHERE", "Nobody serves it.");
    return state.server.url;
  };
  return { state, start, stop, drop, resolve };
}

function channelTo(resolve: ChannelOptions["resolve"], options: Partial<ChannelOptions> = {}): Channel {
  const channel = new Channel({ resolve, backoff: { initialMs: 5, maxMs: 50 }, peer: "the counter", ...options });
  cleanups.push(() => channel.close());
  return channel;
}

const rejected = async (promise: PromiseLike<unknown>): Promise<MarinError> => promise.then((value) => Promise.reject(new Error(`it gave ${String(value)}`)), (error: MarinError) => error);

test("a service that comes back at another address is found again; calls made meanwhile wait", async () => {
  const { state, start, stop, resolve } = counter();
  await start();
  const client = channelTo(resolve).client(service);
  expect(await client.add(1)).toBe(1);
  await stop();
  const waiting = [client.add(10), client.add(100), client.read(null)];
  const sum = client.sum([1, 2, 3]);
  await start();
  await Promise.all(waiting);
  expect(await sum).toBe(6);
  expect(state.total).toBe(111);
  expect(await client.read(null)).toBe(111);
});

test("calls wait no longer than they may, then fail as never sent, with the reason", async () => {
  const { resolve } = counter();
  const channel = channelTo(resolve, { maxWaitMs: 100 });
  const client = channel.client(service);
  expect(await rejected(client.add(1))).toMatchObject({ code: "DUCKY_UNAVAILABLE", data: { peer: "the counter", waitedMs: 100 }, cause: { code: "TEST_NOWHERE" } });
  expect(await rejected(client.add(1, { timeoutMs: 20 }))).toMatchObject({ code: "DUCKY_UNAVAILABLE", data: { waitedMs: expect.closeTo(20, -1) } });
  expect(await rejected(client.count(1).next())).toMatchObject({ code: "DUCKY_UNAVAILABLE" });
  const reason = new Error("enough");
  expect(await rejected(client.add(1, { signal: AbortSignal.abort(reason) }))).toBe(reason);
  const controller = new AbortController();
  const waiting = rejected(client.add(1, { signal: controller.signal }));
  controller.abort(reason);
  expect(await waiting).toBe(reason);
});

test("with no wait allowed, calls fail at once while there is no connection, and go through when there is", async () => {
  const { state, start, stop, resolve } = counter();
  const channel = channelTo(resolve, { maxWaitMs: 0 });
  const client = channel.client(service);
  expect(await rejected(client.add(1))).toMatchObject({ code: "DUCKY_UNAVAILABLE" });
  await start();
  await until(() => channel.isConnected).toBe(true);
  expect(await client.add(1)).toBe(1);
  await stop();
  await until(() => channel.isConnected).toBe(false);
  expect(await rejected(client.add(1))).toMatchObject({ code: "DUCKY_UNAVAILABLE" });
  expect(state.total).toBe(1);
});

test("a call that may have been carried out is not sent again; an idempotent one is, as often as allowed", async () => {
  const { state, start, drop, resolve } = counter();
  await start();
  const client = channelTo(resolve).client(service);
  const lost = rejected(client.hang("once"));
  await until(() => state.calls).toEqual(["once"]);
  drop();
  expect(await lost).toMatchObject({ code: "DUCKY_CLOSED", message: expect.stringContaining("whether it was carried out is not known") });
  state.calls.length = 0;
  const repeated = client.hangIdempotent("again");
  for (const times of [1, 2]) {
    await until(() => state.calls).toHaveLength(times);
    drop();
  }
  expect(await repeated).toBe("again");
  expect(state.calls).toEqual(["again", "again", "again"]);
  state.calls.length = 0;
  const limited = rejected(channelTo(resolve, { maxAttempts: 1 }).client(service).hangIdempotent("limited"));
  await until(() => state.calls).toEqual(["limited"]);
  drop();
  expect(await limited).toMatchObject({ code: "DUCKY_CLOSED" });
});

test("what a handler throws is never a reason to repeat, though it says that a connection of its own was closed", async () => {
  const { state, start, resolve } = counter();
  await start();
  const client = channelTo(resolve).client(service);
  expect(await rejected(client.failing(null))).toMatchObject({ code: "TEST_FAILED" });
  expect(state.calls).toEqual(["failing"]);
  // A service whose own backend is gone: its DUCKY_CLOSED crosses as an error like any other.
  const backend = await listenWebSocket({ onConnection: (transport) => new Connection(transport) });
  const front = await listenWebSocket({
    onConnection: (transport) => {
      const behind = connectWebSocket(backend.url).then((inner) => new Connection(inner).client(service));
      new Connection(transport).serve(defineService("test.front", { read: service.methods.read }), {
        read: async () => {
          state.calls.push("read");
          const inner = await behind;
          await backend.close();
          return inner.read(null);
        },
      });
    },
  });
  cleanups.push(() => front.close());
  const fronted = channelTo(() => front.url).client(defineService("test.front", { read: service.methods.read }));
  expect(await rejected(fronted.read(null))).toMatchObject({ code: "DUCKY_CLOSED" });
  expect(state.calls).toEqual(["failing", "read"]);
});

test("a stream whose connection is lost fails loudly, after the items that had come, and is not begun again", async () => {
  const { start, drop, resolve } = counter();
  await start();
  const client = channelTo(resolve).client(service);
  const items: number[] = [];
  const reading = (async () => {
    for await (const n of client.count(3)) if (items.push(n) === 3) drop();
  })();
  expect(await rejected(reading)).toMatchObject({ code: "DUCKY_CLOSED" });
  expect(items).toEqual([0, 1, 2]);
});

test("a wrong token fails those that wait at once; a token that is renewed lets later calls in", async () => {
  const { state, start, resolve } = counter({ token: "new" });
  await start();
  let token = "old";
  const client = channelTo(resolve, { token: () => Promise.resolve(token) }).client(service);
  expect(await rejected(client.add(1))).toMatchObject({ code: "DUCKY_UNAUTHORIZED" });
  expect(state.total).toBe(0);
  token = "new";
  expect(await client.add(1)).toBe(1);
});

test("a resolver and a server that never answer are given up in time", async () => {
  const never = channelTo(() => new Promise<string>(() => undefined), { maxWaitMs: 300, connectTimeoutMs: 20 });
  expect(await rejected(never.client(service).add(1))).toMatchObject({ code: "DUCKY_UNAVAILABLE", cause: { code: "DUCKY_CONNECT_FAILED", data: { connectTimeoutMs: 20 } } });
});

test("a connection on which nothing comes any more is given up, and another made; an attempt that hears nothing as well", async () => {
  const { state, start, resolve } = counter({ keepAliveMs: 100 });
  await start();
  const proxy = await silentProxy(state.server?.port ?? 0);
  cleanups.push(proxy.close);
  let address = (): string => proxy.url;
  const client = channelTo(() => address(), { keepAliveMs: 100, connectTimeoutMs: 200 }).client(service);
  expect(await client.add(1)).toBe(1);
  const call = client.hangIdempotent("through silence");
  const lost = rejected(client.hang("lost"));
  await until(() => state.calls).toEqual(["through silence", "lost"]);
  proxy.hold();
  expect(await lost).toMatchObject({ code: "DUCKY_CLOSED", cause: { code: "DUCKY_SOCKET_LOST" } });
  // What is sent again goes to the silent proxy first.
  const waiting = client.add(1);
  address = resolve;
  expect(await call).toBe("through silence");
  expect(await waiting).toBe(2);
});

test("closing fails what waits and what is under way, and nothing is tried any more", async () => {
  const { state, start, resolve } = counter();
  const channel = channelTo(resolve);
  const waiting = rejected(channel.client(service).add(1));
  await channel.close();
  expect(await waiting).toMatchObject({ code: "DUCKY_CLOSED" });
  await start();
  const other = channelTo(resolve);
  const hanging = rejected(other.client(service).hang("x"));
  await until(() => state.calls).toEqual(["x"]);
  await other.close();
  expect(await hanging).toMatchObject({ code: "DUCKY_CLOSED" });
  const resolved = state.resolved;
  expect(await rejected(other.client(service).add(1))).toMatchObject({ code: "DUCKY_CLOSED" });
  expect(state.resolved).toBe(resolved);
  expect(state.total).toBe(0);
});

test("every new connection is served on before a call is made", async () => {
  const back = defineService("test.back", { name: unary({ input: z.null(), output: z.string() }) });
  const asks = defineService("test.asks", { who: unary({ input: z.null(), output: z.string() }) });
  let connection: Connection | undefined;
  const server = await listenWebSocket({
    onConnection: (transport) => {
      connection = new Connection(transport);
      const caller = connection.client(back);
      connection.serve(asks, { who: () => caller.name(null) });
    },
  });
  cleanups.push(() => server.close());
  const client = channelTo(() => server.url, { onConnection: (made) => made.serve(back, { name: () => "the client" }) }).client(asks);
  expect(await client.who(null)).toBe("the client");
  connection?.close();
  expect(await client.who(null).catch((error: unknown) => (isMarinError(error, "DUCKY_CLOSED") ? client.who(null) : Promise.reject(error as Error)))).toBe("the client");
});

test("an acceptor takes connections beside what a server serves otherwise, with the identity that was found out", async () => {
  const { createServer } = await import("node:http");
  const acceptor = await acceptWebSocket({ keepAliveMs: 1_000 });
  const whoami = defineService("test.identity", { name: unary({ input: z.null(), output: z.string() }) });
  const server = createServer((_request, response) => response.end("healthy"));
  server.on("upgrade", (request, socket, head) => {
    acceptor.upgrade(request, socket, head, {
      identity: { name: String(request.url) },
      onConnection: (transport) => new Connection(transport).serve(whoami, { name: (_input, call) => call.identity?.name ?? "nobody" }),
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  const { port } = server.address() as { port: number };
  expect(await (await fetch(`http://127.0.0.1:${port}/health`)).text()).toBe("healthy");
  const connection = new Connection(await connectWebSocket(`ws://127.0.0.1:${port}/rpc`));
  expect(await connection.client(whoami).name(null)).toBe("/rpc");
  await acceptor.close();
  await connection.closed;
  server.closeAllConnections();
});
