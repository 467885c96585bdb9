import { expect, test } from "vitest";
import { fileAnswer, startWebServer } from "../../test/web-server.js";
import { createStorage } from "./create.js";
import type { Storage } from "./storage.js";

const content = Buffer.from(Array.from({ length: 30_000 }, (_, index) => (index * 11) % 253));
const storage = createStorage({ http: { maxRetries: 2 } });

async function gathered(read: AsyncIterable<Uint8Array>, seen: (chunk: Uint8Array) => void = () => undefined): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of read) {
    chunks.push(chunk);
    seen(chunk);
  }
  return Buffer.concat(chunks);
}

test.each([
  ["with ranges", true],
  ["without ranges", false],
])("a web server %s: whole, in parts, as a stream, described", async (_name, ranges) => {
  await using server = await startWebServer({ answer: (request) => (request.url === "/a%20b.bin" ? fileAnswer({ content }, request, ranges) : undefined) });
  const path = `${server.endpoint}/a%20b.bin`;
  expect((await storage.stat(path))?.bytes).toBe(30_000);
  expect(content.equals(await storage.read(path))).toBe(true);
  expect(content.subarray(100, 20_000).equals(await storage.read(path, { start: 100, end: 20_000 }))).toBe(true);
  expect(content.subarray(29_000).equals(await gathered(storage.stream(path, { start: 29_000 })))).toBe(true);
  expect(await storage.read(path, { start: 40_000 })).toHaveLength(0);
  expect(await storage.read(path, { start: 5, end: 5 })).toHaveLength(0);
  expect(await storage.stat(`${server.endpoint}/none`)).toBeUndefined();
  await expect(storage.read(`${server.endpoint}/none`)).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
  const copied = await storage.read(path, { start: 0, end: 10 });
  await storage.copy(path, "memory://copy");
  expect([...(await storage.read("memory://copy", { end: 10 }))]).toEqual([...copied]);
});

test("a read that is cut or stands still goes on where it was", async () => {
  const faults = [{ cutAt: 10_000 }, { stallAt: 5000 }, { status: 503 }];
  await using server = await startWebServer({ answer: (request) => fileAnswer({ content }, request), fault: ({ method }) => (method === "GET" ? faults.shift() : undefined) });
  expect(content.equals(await createStorage({ http: { stallMs: 500 } }).read(`${server.endpoint}/a`))).toBe(true);
  // A busy machine may take an answer for one that stands still, and ask for the same again.
  expect([...new Set(server.requests.map(({ headers }) => headers.range))]).toEqual([undefined, "bytes=10000-", "bytes=15000-"]);
});

test("a file that changes while it is read is an error, never a mixture", async () => {
  let served = content;
  await using server = await startWebServer({ answer: (request) => fileAnswer({ content: served }, request), fault: ({ method }) => (method === "GET" && served === content ? { cutAt: 10_000 } : undefined) });
  const path = `${server.endpoint}/a`;
  const version = (await storage.stat(path))?.version;
  const reading = gathered(storage.stream(path), () => (served = Buffer.alloc(30_000, 1)));
  await expect(reading).rejects.toMatchObject({ code: "RIGGING_CHANGED", data: { path } });
  await expect(storage.read(path, { version, start: 3, end: 9 })).rejects.toMatchObject({ code: "RIGGING_CHANGED" });
});

test("servers without HEAD, without validators, that pack what they send, that refuse", async () => {
  await using bare = await startWebServer({ answer: (request) => (request.method === "HEAD" ? { status: 405, headers: {}, body: Buffer.alloc(0) } : fileAnswer({ content, headers: {} }, request)) });
  expect(await storage.stat(`${bare.endpoint}/a`)).toMatchObject({ bytes: 30_000 });
  expect(content.equals(await storage.read(`${bare.endpoint}/a`))).toBe(true);
  await using packing = await startWebServer({ answer: (request) => fileAnswer({ content, headers: { "content-encoding": "gzip" } }, request) });
  await expect(storage.read(`${packing.endpoint}/a`)).rejects.toMatchObject({ code: expect.stringMatching(/RIGGING_STORAGE_/) as string });
  await using closed = await startWebServer({ answer: () => ({ status: 403, headers: {}, body: Buffer.alloc(0) }) });
  await expect(storage.read(`${closed.endpoint}/a?X-Amz-Signature=abcdef`)).rejects.toSatisfy((error: Error & { code: string }) => error.code === "RIGGING_ACCESS_DENIED" && !JSON.stringify([error.message, error]).includes("abcdef"));
});

test("no server; what the web cannot do; what is no URL", async () => {
  const gone = await startWebServer({ answer: () => undefined });
  await gone[Symbol.asyncDispose]();
  await expect(storage.read(`${gone.endpoint}/a`)).rejects.toMatchObject({ code: "RIGGING_STORAGE_UNAVAILABLE", message: expect.stringContaining("ECONNREFUSED") as string });
  const path = "https://example.invalid/a";
  const operations: readonly (() => unknown)[] = [
    () => storage.write(path, "x"),
    () => storage.remove(path),
    () => storage.list(path)[Symbol.asyncIterator]().next(),
    () => storage.rename(path, `${path}2`),
    () => storage.readVersioned(path),
    () => storage.writeIf(path, "x", { version: undefined }),
  ];
  for (const operation of operations) await expect((async () => operation())()).rejects.toMatchObject({ code: "RIGGING_UNSUPPORTED" });
  for (const bad of ["https:", "https://", "https://user:password@host/a"]) {
    await expect((storage as Storage).read(bad)).rejects.toSatisfy((error: Error & { code: string }) => error.code === "RIGGING_BAD_PATH" && !error.message.includes("password@"));
  }
});
