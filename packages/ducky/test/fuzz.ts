/** Feeds connections what no honest peer would send. */
import { connect } from "node:net";
import { Connection, bidiStream, clientStream, defineService, isMarinError, listenWebSocket, serverStream, unary, type Transport } from "@marin/ducky";
import { Packr } from "msgpackr";
import { z } from "zod";

const service = defineService("fuzz.service", {
  add: unary({ input: z.strictObject({ a: z.number(), b: z.number() }), output: z.number() }),
  echo: unary({ input: z.unknown(), output: z.unknown() }),
  fail: unary({ input: z.string(), output: z.null() }),
  hang: unary({ input: z.null(), output: z.null() }),
  count: serverStream({ input: z.number().int().max(50), output: z.number() }),
  sum: clientStream({ input: z.number(), output: z.number() }),
  double: bidiStream({ input: z.number(), output: z.number() }),
});

/** A random number generator that gives the same numbers again (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One end of a transport in memory: what is sent is kept, what is received is handed in. */
function memoryEnd() {
  const sent: Buffer[] = [];
  let receive: (message: Uint8Array) => void = () => undefined;
  const transport: Transport = {
    send: (message) => void sent.push(Buffer.from(message)),
    onMessage: (handler) => void (receive = handler),
    onClose: () => undefined,
    close: () => undefined,
    bufferedBytes: 0,
  };
  return { transport, sent, hand: (message: Uint8Array) => receive(message) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Handlers are given only what their schemas allow. */
function mustBe(condition: boolean, what: string): void {
  if (!condition) throw new Error(`a handler was given ${what}`);
}

function serveFuzz(connection: Connection, broken: (error: unknown) => void): void {
  const guarded = <T>(check: () => void, answer: () => T): T => {
    try {
      check();
    } catch (error) {
      broken(error);
    }
    return answer();
  };
  connection.serve(service, {
    add: ({ a, b }) => guarded(() => mustBe(typeof a === "number" && typeof b === "number", "no numbers"), () => a + b),
    echo: (value) => value,
    fail: (text) => guarded(() => mustBe(typeof text === "string", "no string"), () => {
      throw new TypeError(text);
    }),
    hang: () => new Promise(() => undefined),
    *count(to) {
      mustBe(typeof to === "number", "no number");
      for (let n = 0; n < to; n += 1) yield n;
    },
    async sum(numbers) {
      let sum = 0;
      for await (const n of numbers) sum += guarded(() => mustBe(typeof n === "number", "no number"), () => n);
      return sum;
    },
    async *double(numbers) {
      for await (const n of numbers) yield 2 * n;
    },
  });
}

/** One call of each kind. */
function honestCalls(caller: Connection, signal?: AbortSignal): Promise<unknown>[] {
  const client = caller.client(service);
  const value = { text: "grüße", list: [1, -2.5, null, true], map: new Map([[1, new Set(["x"])]]), bytes: new Uint8Array(40), list2: new Float32Array(3), date: new Date(5), big: 2n ** 70n };
  const read = async (items: AsyncIterable<number>, last: number): Promise<void> => {
    for await (const n of items) if (n === last) break;
  };
  return [
    client.add({ a: 1, b: 2 }),
    client.echo(value),
    client.fail("no"),
    client.hang(null, { signal, timeoutMs: 60_000 }),
    client.echo(new Uint8Array(5_000)),
    client.sum([1, 2, 3]),
    read(client.count(30), 20),
    read(client.double([4, 5]), -1),
  ];
}

/** Every message of an honest session with all kinds of methods, in both directions. */
async function honestMessages(): Promise<{ calls: Buffer[]; answers: Buffer[] }> {
  const [here, there] = [memoryEnd(), memoryEnd()];
  const server = new Connection(there.transport);
  serveFuzz(server, (error) => {
    throw error;
  });
  const caller = new Connection(here.transport);
  const aborted = new AbortController();
  const work = honestCalls(caller, aborted.signal).map(async (call) => call.catch(() => undefined));
  const pump = async (): Promise<void> => {
    for (let round = 0, seenHere = 0, seenThere = 0; round < 30; round += 1) {
      await turn();
      if (round === 10) aborted.abort(new Error("enough"));
      for (; seenHere < here.sent.length; seenHere += 1) there.hand(here.sent[seenHere] ?? Buffer.alloc(0));
      for (; seenThere < there.sent.length; seenThere += 1) here.hand(there.sent[seenThere] ?? Buffer.alloc(0));
    }
  };
  await Promise.all([pump(), ...work]);
  caller.close();
  server.close();
  return { calls: singleFrames(here.sent), answers: singleFrames(there.sent) };
}

/** Each frame as a message of its own. */
function singleFrames(messages: readonly Buffer[]): Buffer[] {
  const frames: Buffer[] = [];
  for (const message of messages) {
    for (let at = 0; at < message.length; ) {
      const end = at + 4 + (message.readUInt32LE(at) & 0x3fff_ffff);
      frames.push(message.subarray(at, end));
      at = end;
    }
  }
  return frames;
}

const packr = new Packr({ useRecords: false, moreTypes: true });

/** Makes a message out of honest ones: changed, cut, repeated, joined, or wholly made up. */
function mutate(corpus: readonly Buffer[], random: () => number): Buffer {
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = (): Buffer => Buffer.from(corpus[below(corpus.length)] ?? Buffer.alloc(8));
  const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => below(256)));
  const message = pick();
  switch (below(16)) {
    case 0:
      return bytes(below(60));
    case 1:
      for (let times = 1 + below(4); times > 0; times -= 1) message[below(message.length)] = below(256);
      return message;
    case 2:
      return message.subarray(0, below(message.length + 1));
    case 3:
      return Buffer.concat([message, pick(), pick()]);
    case 4: {
      const at = below(message.length);
      return Buffer.concat([message.subarray(0, at), bytes(1 + below(9)), message.subarray(at)]);
    }
    case 5: {
      // The tokens that promise much: long strings, arrays, maps, extensions.
      message[4 + below(Math.max(1, message.length - 4))] = [0xc6, 0xc9, 0xdb, 0xdd, 0xdf, 0xd4, 0xc7, 0x62][below(8)] ?? 0;
      return message;
    }
    case 6:
      message.writeUInt32LE([0, 1, message.length, 0x7fff_ffff, 0xffff_ffff, below(2 ** 32), (message.length - 4) | 0x4000_0000, ((message.length - 4) | 0x8000_0000) >>> 0][below(8)] ?? 0, 0);
      return message;
    case 7: {
      const wild = (): unknown => [below(10), -1, 0.5, "fuzz.service", "add", "__proto__", null, true, {}, [], 2 ** 53, below(2 ** 31), { a: 1, b: below(9) }][below(13)];
      const body = packr.pack([below(11), 1 + below(12), ...Array.from({ length: below(8) }, wild)]);
      return framed(body, body.length + (random() < 0.05 ? below(3) : 0));
    }
    case 8: {
      // Only what the user sent: the frame stays one.
      const at = Math.min(message.length - 1, 30);
      for (let times = 1 + below(3); times > 0; times -= 1) message[at + below(message.length - at)] = below(0x80);
      return message;
    }
    default:
      return message;
  }
}

/** What the other end's nonsense may end a connection with. */
const codes = new Set(["DUCKY_BAD_FRAME", "DUCKY_BAD_WIRE_ERROR", "DUCKY_MESSAGE_TOO_LARGE"]);

/** Cases that are at work at a time. */
const groupSize = 100;

/** A connection that has been given nonsense. */
interface Case {
  readonly number: number;
  readonly end: ReturnType<typeof memoryEnd>;
  readonly connection: Connection;
  readonly state: { alive: boolean };
  /** What became of its own calls: an error, or nothing. */
  readonly calls: readonly Promise<unknown>[];
}

/**
 * Hands sequences of mutated messages to connections that serve and, every third, that have open calls.
 *
 * @returns how many cases left their connection alive, and how many ended it
 * @throws when anything but an orderly end or an honest answer comes of it
 */
export async function fuzzFrames(cases: number, seed: number): Promise<{ alive: number; ended: number }> {
  const { calls, answers } = await honestMessages();
  const random = randomFrom(seed);
  const outcome = { alive: 0, ended: 0 };
  const failures: unknown[] = [];
  const onUnhandled = (error: unknown): void => void failures.push(error);
  process.on("unhandledRejection", onUnhandled);
  try {
    for (let first = 0; first < cases; first += groupSize) {
      const group: Case[] = [];
      for (let number = first; number < Math.min(cases, first + groupSize); number += 1) group.push(startCase(number, onUnhandled));
      await turn();
      for (const { number, end } of group) feed(end, isCaller(number) ? answers : calls, random);
      await turn();
      await turn();
      const asked = await Promise.all(group.filter(({ number, state }) => state.alive && !isCaller(number)).map(askHonestly));
      await turn();
      await turn();
      for (const { number, answered } of asked) if (!answered()) throw new Error(`case ${number} of seed ${seed}: an honest call got no answer`);
      for (const one of group) {
        outcome[one.state.alive ? "alive" : "ended"] += 1;
        one.connection.close();
        for (const error of await Promise.all(one.calls)) {
          const cause = isMarinError(error, "DUCKY_CLOSED") ? error.cause : undefined;
          if (cause !== undefined && !(isMarinError(cause) && codes.has(cause.code))) throw new Error(`case ${one.number} of seed ${seed} ended with an error that is none of the protocol's`, { cause });
        }
      }
      if (failures.length > 0) throw new Error(`before case ${first + groupSize} of seed ${seed}: an error escaped`, { cause: failures[0] });
    }
  } finally {
    process.off("unhandledRejection", onUnhandled);
  }
  return outcome;
}

function isCaller(number: number): boolean {
  return number % 3 === 0;
}

function startCase(number: number, broken: (error: unknown) => void): Case {
  const end = memoryEnd();
  const connection = new Connection(end.transport, { maxMessageBytes: 100_000 });
  serveFuzz(connection, broken);
  const state = { alive: true };
  void connection.closed.then(() => (state.alive = false));
  // A call that is never answered tells why the connection ended.
  const calls = [...(isCaller(number) ? honestCalls(connection) : []), connection.client(service).hang(null)].map(async (call) => call.then(() => undefined, (error: unknown) => error));
  return { number, end, connection, state, calls };
}

/** An honest session up to a point, so that what is said about calls finds them; from there on it is followed less and less. */
function feed(end: ReturnType<typeof memoryEnd>, corpus: readonly Buffer[], random: () => number): void {
  const honest = Math.floor(random() * corpus.length);
  for (const frame of corpus.slice(0, honest)) end.hand(Buffer.from(frame));
  for (let at = honest, last = honest + 1 + Math.floor(random() * 4); at < last; at += 1) end.hand(mutate(random() < 0.7 && at < corpus.length ? corpus.slice(at, at + 1) : corpus, random));
}

/** Makes one honest call, whatever came before. */
async function askHonestly({ number, end }: Case): Promise<{ number: number; answered: () => boolean }> {
  const there = memoryEnd();
  const caller = new Connection(there.transport);
  caller.client(service).add({ a: 20, b: 22 }).catch(() => undefined);
  await turn();
  const fields = packr.unpack((there.sent[0] ?? Buffer.alloc(0)).subarray(4)) as unknown[];
  fields[1] = 2 ** 40;
  end.sent.length = 0;
  end.hand(framed(packr.pack(fields)));
  caller.close();
  return { number, answered: () => end.sent.some((message) => message.includes(Buffer.concat([packr.pack(2 ** 40), packr.pack(42)]))) };
}

function framed(body: Buffer, length = body.length): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32LE(length, 0);
  return Buffer.concat([header, body]);
}

/**
 * Sends made-up requests and bytes to a server that asks for a token.
 *
 * @returns how many were let in: none should be
 */
export async function fuzzUpgrades(cases: number, seed: number): Promise<{ connected: number; answered: number }> {
  const random = randomFrom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  let connected = 0;
  let answered = 0;
  const server = await listenWebSocket({ token: "the-right-token", onConnection: () => (connected += 1) });
  const tokens = ["", "Bearer", "Bearer ", "Bearer the-right-toke", "Bearer the-right-token x", "bearer the-right-token", "Basic dGhlLXJpZ2h0LXRva2Vu", "Bearer the-right-tokenx", "the-right-token"];
  const key = "dGhlIHNhbXBsZSBub25jZQ==";
  try {
    for (let done = 0; done < cases; done += 1) {
      const lines = [`GET ${["/", "/?token=the-right-token", "//", `/${"x".repeat(below(2_000))}`][below(4)]} HTTP/1.1`, "Host: 127.0.0.1", "Upgrade: websocket", "Connection: Upgrade", `Sec-WebSocket-Key: ${key}`, "Sec-WebSocket-Version: 13", `Authorization: ${tokens[below(tokens.length)]}`];
      if (below(4) === 0) lines.push(`Origin: http://127.0.0.1:${server.port}`, "Cookie: token=the-right-token");
      if (below(3) === 0) lines.splice(below(lines.length), 1);
      let request = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
      if (below(2) === 0) for (let times = 1 + below(5); times > 0; times -= 1) request[below(request.length)] = below(256);
      // Were it by chance the right one, it would be let in rightly.
      if (/^authorization:\s*bearer the-right-token\s*$/im.test(request.toString("latin1"))) request = Buffer.alloc(1);
      if (below(3) === 0) request = Buffer.concat([request, Buffer.from(Array.from({ length: below(200) }, () => below(256)))]);
      answered += await new Promise<number>((resolve) => {
        const socket = connect({ port: server.port, host: "127.0.0.1" });
        let got = 0;
        socket.on("data", (part) => (got += part.length)).on("error", () => undefined);
        socket.once("close", () => resolve(got > 0 ? 1 : 0));
        // Half a request would be waited for.
        socket.end(request);
      });
    }
  } finally {
    await server.close();
  }
  return { connected, answered };
}
