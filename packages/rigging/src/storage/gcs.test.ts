import { inspect } from "node:util";
import { afterEach, expect, test } from "vitest";
import { digests } from "../gcs-server/objects.js";
import { type GcsServer, startGcsServer } from "../gcs-server/server.js";
import type { FaultChooser, ServerFault } from "../testing/faults.js";
import { createStorage } from "./create.js";
import { remoteError } from "./remote-error.js";
import type { Storage } from "./storage.js";

let server: GcsServer | undefined;
afterEach(() => server?.close());

async function start(fault?: FaultChooser, maxRetries = 3): Promise<{ server: GcsServer; storage: Storage }> {
  server = await startGcsServer({ buckets: ["bucket"], ...(fault === undefined ? {} : { fault }) });
  return { server, storage: createStorage({ gcs: { endpoint: server.endpoint, maxRetries } }) };
}

/** A fault on the first request that the pattern fits. */
function once(method: string, pattern: RegExp, fault: ServerFault): FaultChooser {
  let left = 1;
  return (request) => (request.method === method && pattern.test(request.url) && left-- > 0 ? fault : undefined);
}

async function* pieces(count: number, bytes: number, fail = false): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) yield Buffer.alloc(bytes, index);
  if (fail) throw new Error("the source broke");
}

test("the digests are those of the published test values", async () => {
  // RFC 3720, B.4; RFC 1321, A.5; the check value of CRC-32C.
  expect(await digests(Buffer.from("123456789"))).toEqual({ crc32c: Buffer.from("e3069283", "hex").toString("base64"), md5Hash: Buffer.from("25f9e794323b453885f5181f1b624d0b", "hex").toString("base64") });
  expect((await digests(Buffer.alloc(32))).crc32c).toBe(Buffer.from("8a9136aa", "hex").toString("base64"));
});

test("only the bytes asked for are sent", async () => {
  const { server, storage } = await start();
  await storage.write("gs://bucket/a", Buffer.alloc(1_000_000, 7));
  await storage.read("gs://bucket/a", { start: 10, end: 110 });
  await storage.read("gs://bucket/a", { start: 999_990 });
  expect(await storage.read("gs://bucket/a", { start: 2_000_000 })).toHaveLength(0);
  expect(server.requests.filter(({ method }) => method === "GET").map(({ range, objectBytes }) => [range, objectBytes])).toEqual([
    ["bytes=10-109", 100],
    ["bytes=999990-", 10],
    ["bytes=2000000-", 0],
  ]);
});

test("a long stream goes up in pieces and appears when it is whole; one that breaks never does", async () => {
  const { server, storage } = await start();
  await storage.write("gs://bucket/long", pieces(17, 1 << 20));
  expect(server.requests.map(({ method, status }) => `${method} ${String(status)}`)).toEqual(["POST 200", "PUT 308", "PUT 308", "PUT 200"]);
  const read = await storage.read("gs://bucket/long");
  expect(read).toHaveLength(17 << 20);
  for (let index = 0; index < 17; index += 1) expect(read[index * (1 << 20) + 5]).toBe(index);
  await expect(storage.write("gs://bucket/broken", pieces(9, 1 << 20, true))).rejects.toThrow("the source broke");
  expect(await storage.stat("gs://bucket/broken")).toBeUndefined();
});

test("a listing longer than one page is complete", async () => {
  const { storage } = await start();
  const names = Array.from({ length: 250 }, (_, index) => `gs://bucket/n/${String(index).padStart(5, "0")}`);
  for (let at = 0; at < names.length; at += 50) await Promise.all(names.slice(at, at + 50).map((name) => storage.write(name, "x")));
  const seen: string[] = [];
  for await (const { path } of storage.list("gs://bucket/n/")) seen.push(path);
  expect(seen).toEqual(names);
});

test("a failure that passes is tried again, in reading and writing", async () => {
  const { storage } = await start(once("POST", /uploadType=multipart/, { status: 503 }));
  await storage.write("gs://bucket/a", "content");
  expect(Buffer.from(await storage.read("gs://bucket/a")).toString()).toBe("content");
  const reading = await start(once("GET", /alt=media/, { status: 503 }));
  await reading.storage.write("gs://bucket/a", "content");
  expect(Buffer.from(await reading.storage.read("gs://bucket/a")).toString()).toBe("content");
});

test("ifAbsent after a lost answer: the one whose write it was succeeds, another is refused", async () => {
  const { storage } = await start(once("POST", /uploadType=multipart/, { status: 503 }));
  await storage.write("gs://bucket/lock", "mine", { ifAbsent: true });
  const lost = await start(once("POST", /uploadType=multipart/, "cut-after"));
  await lost.storage.write("gs://bucket/lock", "mine", { ifAbsent: true });
  expect(Buffer.from(await lost.storage.read("gs://bucket/lock")).toString()).toBe("mine");
  await expect(lost.storage.write("gs://bucket/lock", "theirs", { ifAbsent: true })).rejects.toMatchObject({ code: "RIGGING_EXISTS" });
});

test.each([
  [401, "RIGGING_NO_CREDENTIALS", "gcloud auth application-default login"],
  [403, "RIGGING_ACCESS_DENIED", "roles/storage.objectUser"],
  [400, "RIGGING_STORAGE_FAILED", "refused"],
  [503, "RIGGING_STORAGE_UNAVAILABLE", "try again later"],
])("status %d is %s, for every operation", async (status, code, advice) => {
  const { storage } = await start(() => ({ status, message: "no" }), 0);
  const path = "gs://bucket/a";
  const operations = [storage.read(path), storage.stat(path), storage.write(path, "x"), storage.write(path, pieces(9, 1 << 20)), storage.remove(path), storage.list(path)[Symbol.asyncIterator]().next()];
  for (const result of await Promise.allSettled(operations)) {
    expect(result).toMatchObject({ status: "rejected", reason: { code, data: { path, status }, message: expect.stringContaining(advice) as string } });
  }
});

test("no server", async () => {
  const { server } = await start();
  await server.close();
  await expect(createStorage({ gcs: { endpoint: server.endpoint, maxRetries: 0 } }).read("gs://bucket/a")).rejects.toMatchObject({
    code: "RIGGING_STORAGE_UNAVAILABLE",
    message: expect.stringContaining("ECONNREFUSED") as string,
  });
});

test("a bucket that does not exist", async () => {
  const { storage } = await start();
  await expect(storage.read("gs://no-such-bucket/a")).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND", message: expect.stringContaining("no-such-bucket") as string });
  await expect(storage.write("gs://no-such-bucket/a", "x")).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
});

test("what looks like a credential in the client's error is in none of ours", () => {
  const secrets = ["ya29.a0AfH6SNoSecret", "hunter2hunter2", "AIzaSyNoSecret", "c2lnbmF0dXJl", "MIIEvNoSecretKey"];
  const message =
    `Request failed: Authorization: Bearer ${String(secrets[0])}; https://x/upload?upload_id=${String(secrets[1])}&key=${String(secrets[2])}&X-Goog-Signature=${String(secrets[3])} ` +
    `"private_key": "-----BEGIN PRIVATE KEY-----\n${String(secrets[4])}\n-----END PRIVATE KEY-----"`;
  const cause = Object.assign(new Error(message), { code: 500, config: { headers: { Authorization: `Bearer ${String(secrets[0])}` } } });
  const shown = inspect(remoteError(cause, { action: "read", path: "gs://bucket/a" }, { credentials: "log in", permission: "ask for it" }), { depth: 10, showHidden: true });
  expect(shown).toContain("RIGGING_STORAGE_UNAVAILABLE");
  for (const secret of secrets) expect(shown).not.toContain(secret);
});
