import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { openTunnel, serveTunnel, type Tunnel, type TunnelServer } from "./index.js";

/** Waits for a condition, however busy the machine is. */
const until: typeof expect.poll = (read) => expect.poll(read, { timeout: 20_000 });

const token = "tunnel-token";
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function listen(onConnection: (socket: Socket) => void): Promise<{ server: Server; target: string; count: () => Promise<number> }> {
  const server = createServer({ allowHalfOpen: true }, onConnection);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => server.close());
  return { server, target: `127.0.0.1:${(server.address() as AddressInfo).port}`, count: () => new Promise((resolve) => server.getConnections((_, n) => resolve(n))) };
}

async function open(target: string): Promise<{ relay: TunnelServer; tunnel: Tunnel }> {
  const relay = await serveTunnel({ token, allow: [target] });
  cleanups.push(() => relay.close());
  const tunnel = await openTunnel({ relay: relay.url, token, target });
  cleanups.push(() => tunnel.close());
  return { relay, tunnel };
}

function dial({ host, port }: Tunnel): Socket {
  const socket = connect({ host, port, allowHalfOpen: true });
  socket.on("error", () => undefined);
  return socket;
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(() => "it did not fail", (error: unknown) => error);
}

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Not with `for await`, which would end the other direction as well. */
async function received(socket: Socket): Promise<Buffer> {
  const parts: Buffer[] = [];
  socket.on("data", (part: Buffer) => parts.push(part));
  await once(socket, "end");
  return Buffer.concat(parts);
}

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once("close", () => resolve()));

test("several connections echo megabytes each, unchanged, and nothing stays open", async () => {
  const { target, count } = await listen((socket) => socket.pipe(socket));
  const { tunnel } = await open(target);
  await Promise.all(
    [8_000_000, 3_333_333, 0, 1].map(async (length) => {
      const bytes = randomBytes(length);
      const socket = dial(tunnel);
      socket.end(bytes);
      expect(sha256(await received(socket))).toBe(sha256(bytes));
    }),
  );
  await until(count).toBe(0);
});

test("each direction ends by itself: the answer comes after the question has ended", async () => {
  const { target } = await listen((socket) => {
    void received(socket).then((question) => socket.end(`you said ${question.toString()}`));
  });
  const { tunnel } = await open(target);
  const socket = dial(tunnel);
  socket.end("hello");
  expect((await received(socket)).toString()).toBe("you said hello");
});

test("a reader that does not read stops the sender", async () => {
  let sent = 0;
  const chunk = new Uint8Array(100_000);
  const { target } = await listen((socket) => {
    const write = (): void => {
      while (sent < 200_000_000) {
        sent += chunk.length;
        if (!socket.write(chunk)) break;
      }
    };
    socket.on("drain", write).on("error", () => undefined);
    write();
  });
  const { tunnel } = await open(target);
  const socket = dial(tunnel);
  socket.pause();
  // Until nothing moves for some turns of polling: system buffers and one window in each direction are full.
  let before = -1;
  await expect
    .poll(() => {
      const still = sent === before && sent > 0;
      before = sent;
      return still;
    }, { interval: 200, timeout: 20_000 })
    .toBe(true);
  expect(sent).toBeLessThan(60_000_000);
  socket.destroy();
});

test("what the near end drops is dropped at the far end, and the other way round", async () => {
  const arrived: Socket[] = [];
  const { target } = await listen((socket) => {
    arrived.push(socket);
    socket.on("error", () => undefined).resume();
    socket.write("ready");
  });
  const { tunnel } = await open(target);
  const first = dial(tunnel);
  await once(first, "data");
  first.resetAndDestroy();
  await closed(arrived[0] as Socket);
  const second = dial(tunnel);
  await once(second, "data");
  arrived[1]?.resetAndDestroy();
  await closed(second);
  expect(arrived).toHaveLength(2);
});

test("closing the tunnel or the relay ends what goes through it", async () => {
  const { target, count } = await listen((socket) => {
    socket.on("error", () => undefined);
    socket.write("ready");
  });
  for (const end of ["tunnel", "relay"] as const) {
    const ends = await open(target);
    const socket = dial(ends.tunnel);
    await once(socket, "data");
    const gone = closed(socket);
    await ends[end].close();
    await gone;
    await until(count).toBe(0);
  }
});

test("a wrong token, an address that is not allowed and a malformed one are refused", async () => {
  const { target } = await listen((socket) => socket.destroy());
  const { relay } = await open(target);
  expect(await failure(openTunnel({ relay: relay.url, token: "wrong", target }))).toMatchObject({ code: "DUCKY_UNAUTHORIZED" });
  expect(await failure(openTunnel({ relay: relay.url, token, target: "127.0.0.1:22" }))).toMatchObject({ code: "DUCKY_REFUSED", message: expect.stringContaining("127.0.0.1:22") });
  for (const bad of ["127.0.0.1", "host:0", "host:70000", "a b:1", "http://x:1"]) expect(await failure(openTunnel({ relay: relay.url, token, target: bad }))).toMatchObject({ code: "DUCKY_BAD_TARGET" });
  expect(await failure(serveTunnel({ token, allow: ["nowhere"] }))).toMatchObject({ code: "DUCKY_BAD_TARGET" });
  expect(await failure(serveTunnel({ token: "", allow: [target] }))).toMatchObject({ code: "DUCKY_TOKEN_REQUIRED" });
});

test("a target that does not answer resets the connection, and the tunnel lives on", async () => {
  const { server, target } = await listen((socket) => socket.end("hello"));
  const { tunnel } = await open(target);
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const refused = dial(tunnel);
  await closed(refused);
  expect(refused.bytesRead).toBe(0);
  const again = createServer((socket) => socket.end("back"));
  await new Promise<void>((resolve) => again.listen(port, "127.0.0.1", resolve));
  cleanups.push(() => again.close());
  const socket = dial(tunnel);
  socket.end();
  expect((await received(socket)).toString()).toBe("back");
});
