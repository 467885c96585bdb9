import { MessageChannel } from "node:worker_threads";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { Connection, defineService, isMarinError, MarinError, portTransport, serverStream, unary, type ConnectionOptions, type Methods, type Service, type ServiceHandlers } from "./index.js";

/** Waits for a condition, however busy the machine is. */
const until: typeof expect.poll = (read) => expect.poll(read, { timeout: 20_000 });

const mathService = defineService("test.math", {
  add: unary({ input: z.strictObject({ a: z.number(), b: z.number().default(10) }), output: z.number() }),
  hang: unary({ input: z.null(), output: z.null() }),
  fail: unary({ input: z.string(), output: z.null() }),
  lie: unary({ input: z.null(), output: z.string() }),
  count: serverStream({ input: z.strictObject({ to: z.number() }), output: z.number() }),
});

const open: Connection[] = [];
afterEach(() => {
  for (const connection of open.splice(0)) connection.close();
});

function connect<M extends Methods>(service: Service<M>, handlers: ServiceHandlers<M>, options: ConnectionOptions = {}) {
  const { port1, port2 } = new MessageChannel();
  const server = new Connection(portTransport(port1), options).serve(service, handlers);
  const connection = new Connection(portTransport(port2), options);
  open.push(server, connection);
  return { server, connection, client: connection.client(service), port1, port2 };
}

function deferred<T = void>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}

/** Handlers of mathService that tell when a hanging call begins and what ended it. */
function mathHandlers() {
  const started = deferred<() => number | undefined>();
  const ended = deferred<unknown>();
  const closed = deferred<number>();
  const handlers: ServiceHandlers<(typeof mathService)["methods"]> = {
    add: ({ a, b }) => a + b,
    hang: (_input, call) =>
      new Promise(() => {
        const { signal } = call;
        started.resolve(() => call.timeoutMs);
        signal.addEventListener("abort", () => {
          ended.resolve(signal.reason);
        });
      }),
    fail: (message) => {
      throw new MarinError("TEST_FAILED", message, { data: { n: 1n }, cause: new TypeError("inner") });
    },
    lie: () => 5 as unknown as string,
    async *count({ to }) {
      let made = 0;
      try {
        for (; made < to; made += 1) yield made;
      } finally {
        closed.resolve(made);
      }
    },
  };
  return { handlers, started: started.promise, ended: ended.promise, closed: closed.promise };
}

const rejected = async (promise: PromiseLike<unknown>): Promise<MarinError> => {
  try {
    await promise;
  } catch (error) {
    return error as MarinError;
  }
  throw new Error("it did not fail");
};

test("a call gives the answer; defaults are filled in where the value arrives", async () => {
  const { client } = connect(mathService, mathHandlers().handlers);
  expect(await client.add({ a: 1, b: 2 })).toBe(3);
  expect(await client.add({ a: 1 })).toBe(11);
});

test("bad arguments and answers name service, method and field, at either end", async () => {
  const { client, connection } = connect(mathService, mathHandlers().handlers);
  const bad = { a: "one" } as unknown as { a: number };
  const here = await rejected(client.add(bad));
  expect(here).toMatchObject({ code: "DUCKY_INVALID_INPUT", data: { service: "test.math", method: "add" } });
  expect(here.message).toMatch(/^The input of test\.math\.add .*: a: /);
  const unchecked = defineService("test.math", { add: unary({ input: z.unknown(), output: z.unknown() }) });
  const there = await rejected(connection.client(unchecked).add(bad));
  expect(there).toMatchObject({ code: "DUCKY_INVALID_INPUT", message: here.message });
  expect(await rejected(client.lie(null))).toMatchObject({ code: "DUCKY_INVALID_OUTPUT", data: { method: "lie" } });
});

test("an error keeps code, data and cause", async () => {
  const { client } = connect(mathService, mathHandlers().handlers);
  const error = await rejected(client.fail("boom"));
  expect(isMarinError(error, "TEST_FAILED")).toBe(true);
  expect(error).toMatchObject({ message: "boom", data: { n: "1" }, cause: { name: "TypeError", message: "inner" } });
});

test("unknown services, unknown methods and methods of the other kind are named", async () => {
  const { connection, server } = connect(mathService, mathHandlers().handlers);
  const any = { input: z.unknown(), output: z.unknown() };
  const wrong = connection.client(defineService("test.maths", { add: unary(any) }));
  expect(await rejected(wrong.add(1))).toMatchObject({ code: "DUCKY_UNKNOWN_SERVICE", data: { served: ["test.math"] } });
  const other = connection.client(defineService("test.math", { toString: unary(any), add: serverStream(any) }));
  expect(await rejected(other.toString(1))).toMatchObject({ code: "DUCKY_UNKNOWN_METHOD" });
  expect(await rejected(other.add(1).next())).toMatchObject({ code: "DUCKY_METHOD_MISMATCH" });
  expect(() => server.serve(mathService, mathHandlers().handlers)).toThrow(expect.objectContaining({ code: "DUCKY_DUPLICATE_SERVICE" }));
  expect(() => connection.serve(mathService, {} as never)).toThrow(expect.objectContaining({ code: "DUCKY_MISSING_HANDLER" }));
});

test("an aborted signal ends the call with its reason, and tells the handler", async () => {
  const { handlers, started, ended } = mathHandlers();
  const { client } = connect(mathService, handlers);
  const controller = new AbortController();
  const call = client.hang(null, { signal: controller.signal });
  await started;
  const reason = new Error("enough");
  controller.abort(reason);
  expect(await rejected(call)).toBe(reason);
  expect(await ended).toMatchObject({ code: "DUCKY_CANCELLED", cause: { message: "enough" } });
  expect(await rejected(client.hang(null, { signal: controller.signal }))).toBe(reason);
});

test("a deadline travels: the handler knows what is left, both ends give up", async () => {
  const { handlers, started, ended } = mathHandlers();
  const { client } = connect(mathService, handlers);
  const call = client.hang(null, { timeoutMs: 300 });
  const left = (await started)() ?? 0;
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(300);
  expect(await rejected(call)).toMatchObject({ code: "DUCKY_DEADLINE_EXCEEDED", data: { timeoutMs: 300 } });
  expect(isMarinError(await ended)).toBe(true);
  expect(await rejected(client.hang(null, { timeoutMs: 0 }))).toMatchObject({ code: "DUCKY_BAD_TIMEOUT" });
});

test("closing either end fails the calls under way and all later ones, and aborts the handlers", async () => {
  for (const side of ["server", "connection"] as const) {
    const { handlers, started, ended } = mathHandlers();
    const pair = connect(mathService, handlers);
    const call = pair.client.hang(null);
    await started;
    pair[side].close();
    expect(await rejected(call)).toMatchObject({ code: "DUCKY_CLOSED", data: { service: "test.math", method: "hang" } });
    expect(await ended).toMatchObject({ code: "DUCKY_CLOSED" });
    await Promise.all([pair.server.closed, pair.connection.closed]);
    expect(await rejected(pair.client.add({ a: 1 }))).toMatchObject({ code: "DUCKY_CLOSED" });
  }
});

test("both ends serve and call over the one connection", async () => {
  const { handlers } = mathHandlers();
  const { server, client, connection } = connect(mathService, handlers);
  const back = defineService("test.back", { twice: unary({ input: z.number(), output: z.number() }) });
  connection.serve(back, { twice: (n) => 2 * n });
  expect(await Promise.all([client.add({ a: 1 }), server.client(back).twice(4)])).toEqual([11, 8]);
});

test("a consumer that leaves a stream closes the generator", async () => {
  const { handlers, closed } = mathHandlers();
  const { client } = connect(mathService, handlers);
  for await (const n of client.count({ to: 1e9 })) if (n === 3) break;
  expect(await closed).toBeLessThan(1e9);
});

test("a slow consumer stops the producer: a bounded number of items is under way", async () => {
  let made = 0;
  const service = defineService("test.flood", { flood: serverStream({ input: z.null(), output: z.instanceof(Uint8Array) }) });
  const { client } = connect(
    service,
    {
      async *flood() {
        for (; made < 400; made += 1) yield new Uint8Array(10_000);
      },
    },
    { streamWindowBytes: 100_000 },
  );
  let taken = 0;
  for await (const item of client.flood(null)) {
    expect(item.byteLength).toBe(10_000);
    taken += 1;
    // Gives the producer every chance to run ahead.
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(made - taken).toBeLessThanOrEqual(12);
  }
  expect(taken).toBe(400);
});

test("the error of a stream comes after its items", async () => {
  const service = defineService("test.stream", { items: serverStream({ input: z.null(), output: z.number() }) });
  const { client } = connect(service, {
    *items() {
      yield 1;
      yield 2;
      throw new MarinError("TEST_LATE", "late");
    },
  });
  const seen: number[] = [];
  const reading = (async () => {
    for await (const item of client.items(null)) seen.push(item);
  })();
  expect(await rejected(reading)).toMatchObject({ code: "TEST_LATE" });
  expect(seen).toEqual([1, 2]);
});

test("values keep their types", async () => {
  const service = defineService("test.echo", { echo: unary({ input: z.unknown(), output: z.unknown() }) });
  const { client } = connect(service, { echo: (value) => value });
  const value = {
    bytes: new Uint8Array([1, 2]),
    floats: new Float64Array([0.1, NaN]),
    map: new Map<unknown, unknown>([[1, { a: 1 }]]),
    set: new Set(["x"]),
    date: new Date(1234567890123),
    big: 2n ** 80n,
    nothing: undefined,
    large: new Uint8Array(10_000).fill(7),
    nested: [null, { deep: [true, -1.5, "ä\u{1F600}"] }],
  };
  expect(await client.echo(value)).toEqual(value);
  const bytes = new Uint8Array(100_000).map((_, place) => place % 251);
  const answer = client.echo(bytes);
  bytes.fill(0);
  const echoed = (await answer) as Uint8Array;
  expect(echoed).toEqual(new Uint8Array(100_000).map((_, place) => place % 251));
  expect(echoed.constructor).toBe(Uint8Array);
  expect(await rejected(client.echo({ f: () => 1 }))).toMatchObject({ code: "DUCKY_NOT_ENCODABLE" });
  expect(await client.echo({ toJSON: "kept" })).toEqual({ toJSON: "kept" });
});

test("a message that is too large fails its call alone, in either direction", async () => {
  const service = defineService("test.size", { bytes: unary({ input: z.unknown(), output: z.unknown() }), fail: unary({ input: z.number(), output: z.null() }), hang: unary({ input: z.null(), output: z.null() }) });
  const cancelled = deferred<Error>();
  const started = deferred();
  const { client } = connect(
    service,
    {
      bytes: (n) => new Uint8Array(n as number),
      fail: (n) => {
        throw new MarinError("TEST_LONG", "x".repeat(n));
      },
      hang: (_input, { signal }) =>
        new Promise(() => {
          signal.addEventListener("abort", () => {
            cancelled.resolve(signal.reason as Error);
          });
          started.resolve();
        }),
    },
    { maxMessageBytes: 5000 },
  );
  expect(await rejected(client.bytes(new Uint8Array(6000)))).toMatchObject({ code: "DUCKY_MESSAGE_TOO_LARGE" });
  expect(await rejected(client.bytes(6000))).toMatchObject({ code: "DUCKY_MESSAGE_TOO_LARGE", data: { limit: 5000 } });
  expect(await rejected(client.fail(6000))).toMatchObject({ code: "DUCKY_MESSAGE_TOO_LARGE" });
  const controller = new AbortController();
  const call = rejected(client.hang(null, { signal: controller.signal }));
  await started.promise;
  controller.abort(new Error("x".repeat(6000)));
  await call;
  expect(await cancelled.promise).toMatchObject({ code: "DUCKY_CANCELLED" });
  expect(await client.bytes(4900)).toHaveLength(4900);
  expect(() => new Connection(portTransport(new MessageChannel().port1), { maxMessageBytes: 100 })).toThrow(expect.objectContaining({ code: "DUCKY_BAD_LIMIT" }));
});

test("a peer that sends more than is allowed is cut off", async () => {
  const { port1, port2 } = new MessageChannel();
  const server = new Connection(portTransport(port1), { maxMessageBytes: 5000 });
  const connection = new Connection(portTransport(port2));
  open.push(server, connection);
  const service = defineService("test.size", { bytes: unary({ input: z.unknown(), output: z.unknown() }) });
  expect(await rejected(connection.client(service).bytes(new Uint8Array(6000)))).toMatchObject({ code: "DUCKY_CLOSED" });
  await server.closed;
});

test("an aborted signal and a deadline end a stream that waits, and close its generator", async () => {
  const ended: unknown[] = [];
  const service = defineService("test.wait", { wait: serverStream({ input: z.null(), output: z.number() }) });
  const { client } = connect(service, {
    async *wait(_input, { signal }) {
      yield 1;
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      ended.push((signal.reason as MarinError).code);
      yield 2;
    },
  });
  const controller = new AbortController();
  const reason = new Error("enough");
  const read = async (options: { signal?: AbortSignal; timeoutMs?: number }) => {
    for await (const item of client.wait(null, options)) {
      expect(item).toBe(1);
      controller.abort(reason);
    }
  };
  expect(await rejected(read({ signal: controller.signal }))).toBe(reason);
  expect(await rejected(read({ timeoutMs: 50 }))).toMatchObject({ code: "DUCKY_DEADLINE_EXCEEDED" });
  await until(() => ended.length).toBe(2);
  expect(ended[0]).toBe("DUCKY_CANCELLED");
});

test("any bytes that are no frame end the connection, and nothing else", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 0, maxLength: 40 }), async (bytes) => {
      const { port1, port2 } = new MessageChannel();
      const connection = new Connection(portTransport(port1));
      const call = rejected(connection.client(mathService).hang(null));
      port2.postMessage(bytes);
      // A frame by chance about no known call is refused as well.
      expect(await call).toMatchObject({ code: "DUCKY_CLOSED" });
      await connection.closed;
      port2.close();
    }),
    { numRuns: 60 },
  );
});

type Plan = { readonly kind: "echo" | "fail" | "abort" | "stream" | "leave"; readonly payload: unknown; readonly turns: number; readonly items: number };

test("interleaved calls, streams and cancellations give what each would alone", async () => {
  const service = defineService("test.model", {
    echo: unary({ input: z.strictObject({ payload: z.unknown(), turns: z.number(), fail: z.boolean() }), output: z.unknown() }),
    repeat: serverStream({ input: z.strictObject({ payload: z.unknown(), turns: z.number(), items: z.number() }), output: z.unknown() }),
  });
  const wait = async (turns: number) => {
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  let atWork = 0;
  const { client } = connect(
    service,
    {
      async echo({ payload, turns, fail }) {
        atWork += 1;
        await wait(turns);
        atWork -= 1;
        if (fail) throw new MarinError("TEST_PLANNED", "planned");
        return payload;
      },
      async *repeat({ payload, turns, items }) {
        atWork += 1;
        try {
          for (let n = 0; n < items; n += 1) {
            await wait(turns);
            yield payload;
          }
        } finally {
          atWork -= 1;
        }
      },
    },
    { streamWindowBytes: 300 },
  );
  const perform = async ({ kind, payload, turns, items }: Plan): Promise<unknown> => {
    if (kind === "echo" || kind === "fail") return client.echo({ payload, turns, fail: kind === "fail" }).catch((error: MarinError) => error.code);
    if (kind === "abort") {
      const controller = new AbortController();
      const call = client.echo({ payload, turns: turns + 2, fail: false }, { signal: controller.signal }).catch((error: unknown) => error);
      controller.abort("planned abort");
      return call;
    }
    const seen: unknown[] = [];
    for await (const item of client.repeat({ payload, turns, items })) {
      seen.push(item);
      if (kind === "leave") break;
    }
    return seen;
  };
  const model = ({ kind, payload, items }: Plan): unknown => {
    if (kind === "echo") return payload;
    if (kind === "fail") return "TEST_PLANNED";
    if (kind === "abort") return "planned abort";
    return new Array<unknown>(kind === "leave" ? Math.min(items, 1) : items).fill(payload);
  };
  const payload = fc.oneof(fc.string({ maxLength: 200 }), fc.uint8Array({ maxLength: 200 }), fc.double(), fc.bigInt(), fc.jsonValue({ maxDepth: 2 }), fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.integer()));
  const plan = fc.record({ kind: fc.constantFrom<Plan["kind"]>("echo", "fail", "abort", "stream", "leave"), payload, turns: fc.nat(3), items: fc.nat(6) });
  await fc.assert(
    fc.asyncProperty(fc.array(plan, { minLength: 1, maxLength: 20 }), async (plans) => {
      expect(await Promise.all(plans.map(perform))).toEqual(plans.map(model));
      await wait(12);
      expect(atWork).toBe(0);
    }),
    { numRuns: 60 },
  );
});

test("whenever either end closes, every call settles, every generator is closed, and no answer is wrong", async () => {
  const service = defineService("test.closing", {
    later: unary({ input: z.strictObject({ n: z.number(), turns: z.number() }), output: z.number() }),
    items: serverStream({ input: z.number(), output: z.number() }),
  });
  const wait = async (turns: number) => {
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(6), { minLength: 1, maxLength: 12 }), fc.nat(8), fc.boolean(), async (turns, closeAfter, byServer) => {
      let generators = 0;
      const { server, connection, client } = connect(service, {
        later: async ({ n, turns: delay }) => {
          await wait(delay);
          return n;
        },
        async *items(limit) {
          generators += 1;
          try {
            for (let n = 0; n < limit; n += 1) {
              await wait(1);
              yield n;
            }
          } finally {
            generators -= 1;
          }
        },
      });
      const outcome = async (n: number, delay: number): Promise<unknown> => {
        if (n % 2 === 0) return client.later({ n, turns: delay }).catch((error: MarinError) => error.code);
        let expected = 0;
        try {
          for await (const item of client.items(delay)) expect(item).toBe(expected++);
          return expected;
        } catch (error) {
          return (error as MarinError).code;
        }
      };
      const outcomes = turns.map((delay, n) => outcome(n, delay));
      await wait(closeAfter);
      (byServer ? server : connection).close();
      const settled = await Promise.all(outcomes);
      settled.forEach((got, n) => {
        expect([n % 2 === 0 ? n : turns[n], "DUCKY_CLOSED"]).toContain(got);
      });
      await Promise.all([server.closed, connection.closed]);
      await wait(10);
      expect(generators).toBe(0);
    }),
    { numRuns: 60 },
  );
});
