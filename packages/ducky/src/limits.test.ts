import { MessageChannel } from "node:worker_threads";
import { Packr } from "msgpackr";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { clientStream, Connection, defineService, portTransport, serverStream, unary, type ConnectionOptions, type MarinError, type Transport } from "./index.js";

/** Waits for a condition, however busy the machine is. */
const until: typeof expect.poll = (read) => expect.poll(read, { timeout: 20_000 });

const service = defineService("test.limits", {
  echo: unary({ input: z.unknown(), output: z.unknown() }),
  bytes: unary({ input: z.number(), output: z.instanceof(Uint8Array) }),
  hang: unary({ input: z.null(), output: z.null() }),
  items: serverStream({ input: z.array(z.number()), output: z.instanceof(Uint8Array) }),
  upload: clientStream({ input: z.instanceof(Uint8Array), output: z.number() }),
});

const open: Connection[] = [];
afterEach(() => {
  for (const connection of open.splice(0)) connection.close();
});

const packr = new Packr({ useRecords: false, moreTypes: true });

/** A frame as a peer would send it that does not keep to the rules. */
function frame(body: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32LE(body.length, 0);
  return Buffer.concat([header, body]);
}

/** A server at the far end of a transport that the test plays: `buffered` bytes wait to be sent. */
function serveRaw(options: ConnectionOptions = {}) {
  const state = { buffered: 0, sent: [] as Buffer[] };
  let receive: (message: Uint8Array) => void = () => undefined;
  const transport: Transport = {
    send: (message) => void state.sent.push(Buffer.from(message)),
    onMessage: (handler) => void (receive = handler),
    onClose: () => undefined,
    close: () => undefined,
    get bufferedBytes() {
      return state.buffered;
    },
  };
  const read = { bytes: 0 };
  const connection = new Connection(transport, options).serve(service, {
    echo: (value) => value,
    bytes: (n) => new Uint8Array(n),
    hang: () => new Promise(() => undefined),
    *items(sizes) {
      for (const size of sizes) yield new Uint8Array(size);
    },
    async upload(parts) {
      for await (const part of parts) read.bytes += part.length;
      return read.bytes;
    },
  });
  open.push(connection);
  const cause = connection.client(service).hang(null).catch((error: MarinError) => error.cause as MarinError);
  return { state, connection, cause, hand: (...messages: Buffer[]) => messages.forEach((message) => receive(message)), sent: () => Buffer.concat(state.sent).toString("latin1") };
}

const callFrame = (id: number, method: string, kind: number, input: unknown, window = 0): Buffer => frame(packr.pack([0, id, "test.limits", method, kind, input, null, window]));
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function connect(serverOptions: ConnectionOptions, clientOptions: ConnectionOptions = serverOptions) {
  const { port1, port2 } = new MessageChannel();
  const server = new Connection(portTransport(port1), serverOptions).serve(service, {
    echo: (value) => value,
    bytes: (n) => new Uint8Array(n),
    hang: () => new Promise(() => undefined),
    *items(sizes) {
      for (const size of sizes) yield new Uint8Array(size);
    },
    async upload(parts) {
      let bytes = 0;
      for await (const part of parts) bytes += part.length;
      return bytes;
    },
  });
  const connection = new Connection(portTransport(port2), clientOptions);
  open.push(server, connection);
  return { client: connection.client(service), connection };
}

const rejected = async (promise: PromiseLike<unknown>): Promise<MarinError> => promise.then((value) => Promise.reject(new Error(`it gave ${String(value)}`)), (error: MarinError) => error);

test("an item that is too large fails its stream alone, in either direction", async () => {
  const { client } = connect({ maxMessageBytes: 5_000 });
  const sizes: number[] = [];
  const reading = (async () => {
    for await (const item of client.items([10, 4_000, 6_000, 10])) sizes.push(item.length);
  })();
  expect(await rejected(reading)).toMatchObject({ code: "DUCKY_MESSAGE_TOO_LARGE", data: { limit: 5_000 } });
  expect(sizes).toEqual([10, 4_000]);
  expect(await rejected(client.upload([new Uint8Array(10), new Uint8Array(6_000)]))).toMatchObject({ code: "DUCKY_MESSAGE_TOO_LARGE" });
  expect(await client.upload([new Uint8Array(4_000), new Uint8Array(4_000)])).toBe(8_000);
  expect(await client.echo(1)).toBe(1);
});

test("ends with different limits still exchange small messages in batches", async () => {
  const { client } = connect({ maxMessageBytes: 4_096 }, {});
  const answers = await Promise.all(Array.from({ length: 500 }, (_, n) => client.echo(`answer ${n} ${"x".repeat(200)}`)));
  expect(answers[499]).toContain("answer 499");
});

test("more calls at a time than allowed are refused one by one", async () => {
  const { client } = connect({ maxCalls: 3 });
  const controllers = Array.from({ length: 3 }, () => new AbortController());
  const hanging = controllers.map(({ signal }) => rejected(client.hang(null, { signal })));
  expect(await rejected(client.echo(1))).toMatchObject({ code: "DUCKY_TOO_MANY_CALLS", data: { maxCalls: 3 } });
  controllers[0]?.abort(new Error("enough"));
  await hanging[0];
  expect(await client.echo(2)).toBe(2);
});

test("a peer that asks and does not read is refused, then cut off", async () => {
  const { state, hand, cause, sent } = serveRaw({ maxMessageBytes: 10_000, maxBacklogBytes: 20_000 });
  state.buffered = 25_000;
  hand(callFrame(1, "echo", 0, "hello"));
  await turn();
  expect(sent()).toContain("DUCKY_BACKLOG");
  expect(sent()).not.toContain("hello");
  state.buffered = 0;
  hand(callFrame(2, "echo", 0, "hello"));
  await turn();
  expect(sent()).toContain("hello");
  state.buffered = 45_000;
  hand(callFrame(3, "echo", 0, "again"));
  expect(await cause).toMatchObject({ code: "DUCKY_BACKLOG" });
});

test("a peer that sends more items than it was given room for is cut off", async () => {
  const { hand, cause } = serveRaw({ streamWindowBytes: 1 });
  hand(callFrame(1, "upload", 2, null));
  const item = frame(packr.pack([3, 1, new Uint8Array(30_000)]));
  hand(item, item, item, item, item);
  expect(await cause).toMatchObject({ code: "DUCKY_BAD_FRAME", message: expect.stringContaining("no room") });
});

test("frames about streams that there are not, and items after the end, are refused", async () => {
  for (const [kind, rest] of [
    [2, [100]],
    [3, [1]],
    [4, []],
  ] as const) {
    const { hand, cause } = serveRaw();
    hand(callFrame(1, "hang", 0, null), frame(packr.pack([kind, 1, ...rest])));
    expect(await cause).toMatchObject({ code: "DUCKY_BAD_FRAME" });
  }
  const { hand, cause } = serveRaw();
  hand(callFrame(1, "upload", 2, null), frame(packr.pack([4, 1])), frame(packr.pack([3, 1, new Uint8Array(1)])));
  expect(await cause).toMatchObject({ code: "DUCKY_BAD_FRAME", message: expect.stringContaining("after the end") });
});

test("a message within its limit that would fill the memory is refused: few bytes, many values", async () => {
  const count = 2 ** 23;
  const { hand, cause } = serveRaw();
  const head = packr.pack([0, 1, "test.limits", "echo", 0, null, null, 0]).subarray(0, -3);
  const array = Buffer.alloc(5 + count, 0x90);
  array[0] = 0xdd;
  array.writeUInt32BE(count, 1);
  hand(frame(Buffer.concat([head, array, packr.pack(null), packr.pack(0)])));
  expect(await cause).toMatchObject({ code: "DUCKY_BAD_FRAME", message: expect.stringContaining("values") });
  const { client } = connect({});
  expect(await rejected(client.echo(new Array(2 ** 22 + 1).fill(0)))).toMatchObject({ code: "DUCKY_NOT_ENCODABLE", message: expect.stringContaining("typed arrays") });
  expect(await client.echo(new Float32Array(2 ** 22 + 1))).toHaveLength(2 ** 22 + 1);
});

test("references within a message, which could make it endless, are refused", async () => {
  const { hand, cause } = serveRaw();
  const laughs = new Packr({ structuredClone: true, useRecords: false });
  let value: unknown = ["ha"];
  for (let level = 0; level < 30; level += 1) value = [value, value];
  hand(frame(laughs.pack([0, 1, "test.limits", "echo", 0, value, null, 0])));
  expect(await cause).toMatchObject({ code: "DUCKY_BAD_FRAME" });
});

test("a stream's window follows its consumer over many small items", async () => {
  const service2 = defineService("test.many", { count: serverStream({ input: z.number(), output: z.number() }) });
  const { port1, port2 } = new MessageChannel();
  let made = 0;
  open.push(
    new Connection(portTransport(port1)).serve(service2, {
      *count(to) {
        for (made = 0; made < to; made += 1) yield made;
      },
    }),
  );
  const connection = new Connection(portTransport(port2), { streamWindowBytes: 2 ** 20 });
  open.push(connection);
  let taken = 0;
  for await (const n of connection.client(service2).count(100_000)) {
    if (n !== taken) throw new Error(`item ${taken} is ${n}`);
    taken += 1;
    if (made - taken > 20_000) throw new Error(`${made - taken} items are under way`);
  }
  await until(() => taken).toBe(100_000);
});
