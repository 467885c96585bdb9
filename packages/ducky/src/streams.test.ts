import { MessageChannel } from "node:worker_threads";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { bidiStream, clientStream, Connection, defineService, MarinError, portTransport, type ConnectionOptions, type ServiceHandlers } from "./index.js";

/** Waits for a condition, however busy the machine is. */
const until: typeof expect.poll = (read) => expect.poll(read, { timeout: 20_000 });

const service = defineService("test.streams", {
  sum: clientStream({ input: z.number(), output: z.number() }),
  upload: clientStream({ input: z.instanceof(Uint8Array), output: z.number() }),
  double: bidiStream({ input: z.number(), output: z.number() }),
  relay: bidiStream({ input: z.instanceof(Uint8Array), output: z.instanceof(Uint8Array) }),
});
type Handlers = ServiceHandlers<(typeof service)["methods"]>;

const open: Connection[] = [];
afterEach(() => {
  for (const connection of open.splice(0)) connection.close();
});

const straight: Handlers = {
  async sum(numbers) {
    let sum = 0;
    for await (const n of numbers) sum += n;
    return sum;
  },
  async upload(parts) {
    let bytes = 0;
    for await (const part of parts) bytes += part.length;
    return bytes;
  },
  async *double(numbers) {
    for await (const n of numbers) yield 2 * n;
  },
  async *relay(parts) {
    yield* parts;
  },
};

function connect(handlers: Partial<Handlers> = {}, options: ConnectionOptions = {}) {
  const { port1, port2 } = new MessageChannel();
  const server = new Connection(portTransport(port1), options).serve(service, { ...straight, ...handlers });
  const connection = new Connection(portTransport(port2), options);
  open.push(server, connection);
  return { server, connection, client: connection.client(service) };
}

function deferred<T = void>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

const rejected = async (promise: PromiseLike<unknown>): Promise<MarinError> => promise.then((value) => Promise.reject(new Error(`it gave ${String(value)}`)), (error: MarinError) => error);

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** A source that tells how many items were asked for, and when it is closed. */
function source(count: number) {
  const closed = deferred<number>();
  const state = { made: 0, closed: closed.promise };
  async function* items() {
    try {
      for (; state.made < count; state.made += 1) yield new Uint8Array(10_000);
    } finally {
      closed.resolve(state.made);
    }
  }
  return { state, items: items() };
}

test("a caller's stream gives one answer, from arrays, generators and streams without items", async () => {
  const { client } = connect();
  expect(await client.sum([1, 2, 3])).toBe(6);
  expect(await client.sum([])).toBe(0);
  expect(
    await client.sum(
      (async function* () {
        for (let n = 1; n <= 1_000; n += 1) yield n;
      })(),
    ),
  ).toBe(500_500);
});

test("a stream in either direction at the same time: each answer before the next question", async () => {
  const { client } = connect();
  const numbers = [1, 5, 7];
  const questions = numbers.map(() => deferred<number>());
  async function* dialogue() {
    for (const question of questions) yield await question.promise;
  }
  const answers = client.double(dialogue());
  for (const [place, n] of numbers.entries()) {
    const answer = answers.next();
    questions[place]?.resolve(n);
    expect(await answer).toEqual({ done: false, value: 2 * n });
  }
  expect(await answers.next()).toEqual({ done: true, value: undefined });
});

test("any numbers, any window: what a bidirectional stream gives is what a loop would", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer(), { maxLength: 300 }), fc.integer({ min: 1, max: 5_000 }), async (numbers, streamWindowBytes) => {
      const { client } = connect({}, { streamWindowBytes });
      expect(await collect(client.double(numbers))).toEqual(numbers.map((n) => 2 * n));
      expect(await client.sum(numbers)).toBe(numbers.reduce((sum, n) => sum + n, 0));
    }),
    { numRuns: 20 },
  );
});

test("a handler that does not read stops the caller's source: a bounded number of items is under way", async () => {
  const go = deferred();
  const { client } = connect({
    async upload(parts) {
      await go.promise;
      let bytes = 0;
      for await (const part of parts) bytes += part.length;
      return bytes;
    },
  }, { streamWindowBytes: 2 ** 20 });
  const { state, items } = source(400);
  const answer = client.upload(items);
  await until(() => state.made).toBeGreaterThan(50);
  await turns(50);
  expect(state.made * 10_000).toBeLessThan(1.2 * 2 ** 20);
  go.resolve();
  expect(await answer).toBe(4_000_000);
});

test("a consumer that does not read stops both directions of a relay", async () => {
  const { client } = connect({}, { streamWindowBytes: 100_000 });
  const { state, items } = source(400);
  const relayed = client.relay(items);
  await relayed.next();
  let before = -1;
  await until(async () => {
    await turns(20);
    const still = state.made === before;
    before = state.made;
    return still;
  }).toBe(true);
  // Two windows of 100 kB, of which one item each may overshoot, and what the generators between hold.
  expect(state.made).toBeLessThan(30);
  expect((await collect(relayed)).length).toBe(399);
});

test("an answer before the end leaves the source, and closes it", async () => {
  const { client } = connect({
    async upload(parts) {
      const first = await parts.next();
      return first.done === true ? 0 : first.value.length;
    },
  });
  const { state, items } = source(1e9);
  expect(await client.upload(items)).toBe(10_000);
  expect(await state.closed).toBeLessThan(1_000);
});

test("a source that throws fails the call with that error, and the handler's items throw: half a stream never looks whole", async () => {
  const seen = deferred<unknown>();
  const { client } = connect({
    async sum(numbers) {
      let sum = 0;
      try {
        for await (const n of numbers) sum += n;
      } catch (error) {
        seen.resolve(error);
        throw error;
      }
      seen.resolve("the items ended");
      return sum;
    },
  });
  const broken = new Error("the disk is gone");
  const call = client.sum(
    (function* () {
      yield 1;
      throw broken;
    })(),
  );
  expect(await rejected(call)).toBe(broken);
  expect(await seen.promise).toMatchObject({ code: "DUCKY_CANCELLED", cause: { message: "the disk is gone" } });
});

test("cancelling, a deadline and a lost connection break off the handler's items and close the source", async () => {
  for (const how of ["cancel", "deadline", "lost"] as const) {
    const seen = deferred<MarinError>();
    const { client, connection } = connect({
      async upload(parts) {
        try {
          for await (const part of parts) if (part.length === 0) return 0;
        } catch (error) {
          seen.resolve(error as MarinError);
        }
        return new Promise(() => undefined);
      },
    });
    const { state, items } = source(1e9);
    const controller = new AbortController();
    const call = client.upload(items, how === "cancel" ? { signal: controller.signal } : how === "deadline" ? { timeoutMs: 100 } : {});
    const failed = rejected(call);
    await until(() => state.made).toBeGreaterThan(10);
    if (how === "cancel") controller.abort(new Error("enough"));
    if (how === "lost") connection.close();
    const code = { cancel: undefined, deadline: "DUCKY_DEADLINE_EXCEEDED", lost: "DUCKY_CLOSED" }[how];
    expect((await failed).code).toBe(code);
    // Whichever is first at the handler's end: its own deadline, or the caller's cancellation.
    expect(["DUCKY_CANCELLED", "DUCKY_DEADLINE_EXCEEDED", "DUCKY_CLOSED"]).toContain((await seen.promise).code);
    await state.closed;
  }
});

test("an item that its schema refuses fails the call by name, at either end", async () => {
  const { client, connection } = connect();
  const call = (items: unknown[]): Promise<unknown> => client.sum(items as number[]);
  expect(await rejected(call([1, "two"]))).toMatchObject({ code: "DUCKY_INVALID_INPUT", data: { service: "test.streams", method: "sum" } });
  const loose = defineService("test.streams", { sum: clientStream({ input: z.unknown(), output: z.unknown() }) });
  expect(await rejected(connection.client(loose).sum([1, "two"]))).toMatchObject({ code: "DUCKY_INVALID_INPUT", data: { service: "test.streams", method: "sum" } });
});

test("a handler's error ends a stream in either direction with its code, after the items before it", async () => {
  const { client } = connect({
    async *double(numbers) {
      for await (const n of numbers) {
        if (n === 3) throw new MarinError("TEST_THREE", "three");
        yield n;
      }
    },
  });
  const seen: number[] = [];
  const reading = (async () => {
    for await (const n of client.double([1, 2, 3, 4])) seen.push(n);
  })();
  expect(await rejected(reading)).toMatchObject({ code: "TEST_THREE" });
  expect(seen).toEqual([1, 2]);
});
