import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { Channel, Connection, connectWebSocket, defineService, listenWebSocket, MarinError, serverStream, unary, type CallContext, type Caller, type ConnectRequest, type Identity, type WebSocketServerOptions } from "./index.js";

/** Waits for a condition, however busy the machine is. */
const until: typeof expect.poll = (read) => expect.poll(read, { timeout: 20_000 });

const service = defineService("test.hop", {
  work: unary({ input: z.string(), output: z.string() }),
  items: serverStream({ input: z.null(), output: z.number() }),
  whoami: unary({ input: z.null(), output: z.strictObject({ name: z.string(), scopes: z.array(z.string()) }) }),
});

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Work {
  readonly input: string;
  readonly call: CallContext;
  readonly left: number | undefined;
}

/** A server that hands everything on to the next, or does it where there is none. */
async function hop(next: Caller | undefined, work: (work: Work) => Promise<string>, options: Partial<WebSocketServerOptions> = {}): Promise<Channel> {
  const client = next?.client(service);
  const server = await listenWebSocket({
    ...options,
    onConnection: (transport) =>
      new Connection(transport).serve(service, {
        work: (input, call) => (client === undefined ? work({ input, call, left: call.timeoutMs }) : client.work(input, call)),
        items: (input, call) =>
          client === undefined
            ? (async function* () {
                for (let n = 0; ; n += 1) {
                  await work({ input: "item", call, left: call.timeoutMs });
                  yield n;
                }
              })()
            : client.items(input, call),
        whoami: (_input, call) => ({ name: call.identity?.name ?? "nobody", scopes: [...(call.identity?.scopes ?? [])] }),
      }),
  });
  cleanups.push(() => server.close());
  const channel = new Channel({ resolve: () => server.url });
  cleanups.push(() => channel.close());
  return channel;
}

/** Three servers, one behind the other. */
async function chain(work: (work: Work) => Promise<string>) {
  return (await hop(await hop(await hop(undefined, work), work), work)).client(service);
}

const rejected = async (promise: PromiseLike<unknown>): Promise<MarinError> => promise.then((value) => Promise.reject(new Error(`it gave ${String(value)}`)), (error: MarinError) => error);

/** Work that lasts until its signal is aborted. */
function untilAborted() {
  const begun: Work[] = [];
  const reasons: unknown[] = [];
  const work = (one: Work): Promise<string> => {
    begun.push(one);
    return new Promise((_resolve, reject) => {
      one.call.signal.addEventListener("abort", () => {
        reasons.push(one.call.signal.reason);
        reject(one.call.signal.reason as Error);
      });
    });
  };
  return { begun, reasons, work };
}

test("cancelling reaches the last of three servers", async () => {
  const { begun, reasons, work } = untilAborted();
  const client = await chain(work);
  const controller = new AbortController();
  const call = rejected(client.work("x", { signal: controller.signal }));
  await until(() => begun).toHaveLength(1);
  const reason = new Error("enough");
  controller.abort(reason);
  expect(await call).toBe(reason);
  await until(() => reasons).toHaveLength(1);
  expect(reasons[0]).toMatchObject({ code: "DUCKY_CANCELLED" });
});

test("a deadline reaches the last of three servers, shorter by what each took", async () => {
  const { begun, reasons, work } = untilAborted();
  const client = await chain(work);
  const call = rejected(client.work("x", { timeoutMs: 400 }));
  await until(() => begun).toHaveLength(1);
  expect(begun[0]?.left).toBeGreaterThan(0);
  expect(begun[0]?.left).toBeLessThan(400);
  expect(await call).toMatchObject({ code: "DUCKY_DEADLINE_EXCEEDED", data: { service: "test.hop", method: "work" } });
  await until(() => reasons).toHaveLength(1);
});

test("leaving a stream, and losing the first connection, end the work behind three servers", async () => {
  const { begun, reasons, work } = untilAborted();
  let items = 0;
  const client = await chain(async (one) => (items++ < 2 ? "" : work(one)));
  for await (const n of client.items(null)) if (n === 1) break;
  await until(() => begun.length - reasons.length).toBe(0);
  const first = await hop(undefined, work);
  const second = await hop(first, work);
  const connection = await second.connected();
  const lost = rejected(connection.client(service).work("x"));
  const before = begun.length;
  await until(() => begun.length).toBe(before + 1);
  connection.close();
  expect(await lost).toMatchObject({ code: "DUCKY_CLOSED" });
  await until(() => begun.length - reasons.length).toBe(0);
});

test("an error keeps its class and code over three servers", async () => {
  const errors = [new MarinError("TEST_DEEP", "deep", { data: { n: 1 }, cause: new RangeError("r") }), new TypeError("not that")];
  const client = await chain(() => Promise.reject(errors.shift() ?? new Error()));
  expect(await rejected(client.work("x"))).toMatchObject({ code: "TEST_DEEP", data: { n: 1 }, cause: expect.any(RangeError) });
  expect(await rejected(client.work("x"))).toBeInstanceOf(TypeError);
});

test("handlers see who calls; strangers, pages of other sites and failures of the check itself are refused", async () => {
  const seen: ConnectRequest[] = [];
  const identities: Record<string, Identity> = { "Bearer ada": { name: "ada", scopes: ["jobs:read"] }, "Bearer bob": { name: "bob" } };
  const options: Partial<WebSocketServerOptions> = {
    authenticate: async (request) => {
      seen.push(request);
      await new Promise((resolve) => setImmediate(resolve));
      const given = String(request.headers["authorization"]);
      if (given === "Bearer expired") throw new MarinError("TEST_EXPIRED", "The token ended yesterday.", { data: { status: 401 } });
      if (given === "Bearer busy") throw new MarinError("TEST_BUSY", "Ask again.", { data: { status: 503 } });
      if (given === "Bearer broken") throw new Error("password=hunter2");
      return identities[given];
    },
  };
  const { url } = await listenWebSocket({
    ...options,
    onConnection: (transport) =>
      new Connection(transport).serve(defineService("test.hop", { whoami: service.methods.whoami }), {
        whoami: (_input, call) => ({ name: call.identity?.name ?? "nobody", scopes: [...(call.identity?.scopes ?? [])] }),
      }),
  }).then((server) => (cleanups.push(() => server.close()), server));
  const whoami = async (token: string): Promise<unknown> => {
    const connection = new Connection(await connectWebSocket(url, { token }));
    cleanups.push(() => connection.close());
    return connection.client(service).whoami(null);
  };
  expect(await whoami("ada")).toEqual({ name: "ada", scopes: ["jobs:read"] });
  expect(await whoami("bob")).toEqual({ name: "bob", scopes: [] });
  expect(seen[0]).toMatchObject({ remoteAddress: expect.stringContaining("127.0.0.1"), headers: { authorization: "Bearer ada" } });
  expect(await rejected(whoami("eve"))).toMatchObject({ code: "DUCKY_UNAUTHORIZED" });
  expect(await rejected(whoami("expired"))).toMatchObject({ code: "DUCKY_UNAUTHORIZED", message: expect.stringContaining("ended yesterday") });
  expect(await rejected(whoami("busy"))).toMatchObject({ code: "DUCKY_CONNECT_FAILED", message: expect.stringContaining("Ask again") });
  const broken = await rejected(whoami("broken"));
  expect(broken).toMatchObject({ code: "DUCKY_CONNECT_FAILED", message: expect.stringContaining("500") });
  expect(broken.message).not.toContain("hunter2");
  const { WebSocket } = await import("ws");
  const asked = seen.length;
  const page = new WebSocket(url, { headers: { origin: "http://evil.example" } });
  expect(await new Promise((resolve) => page.once("unexpected-response", (_request, response) => resolve(response.statusCode)))).toBe(403);
  page.on("error", () => undefined).terminate();
  expect(seen).toHaveLength(asked);
});

test("a connection ends with the credential that let it in", async () => {
  const server = await listenWebSocket({ authenticate: () => ({ name: "ada", expiresAt: Date.now() + 50 }), onConnection: (transport) => new Connection(transport) });
  cleanups.push(() => server.close());
  const connection = new Connection(await connectWebSocket(server.url));
  expect(await rejected(connection.client(service).work("x", { timeoutMs: 20_000 }))).toMatchObject({ code: expect.stringMatching(/DUCKY_CLOSED|DUCKY_UNKNOWN_SERVICE/) });
  await connection.closed;
});
