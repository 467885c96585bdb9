import { afterEach, expect, test } from "vitest";
import { type S3Server, startS3Server } from "../s3-server/server.js";
import { Secret } from "../secrets.js";
import type { FaultChooser } from "../testing/faults.js";
import { createStorage } from "./create.js";
import type { Storage } from "./storage.js";

let server: S3Server | undefined;
afterEach(() => server?.close());

async function start(fault?: FaultChooser, maxRetries = 3): Promise<{ server: S3Server; storage: Storage }> {
  server = await startS3Server({ buckets: ["bucket"], ...(fault === undefined ? {} : { fault }) });
  const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: new Secret("s3", "wJalrXUtnFEMI") };
  return { server, storage: createStorage({ s3: { endpoint: server.endpoint, maxRetries, credentials } }) };
}

async function* pieces(count: number, bytes: number, fail = false): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) yield Buffer.alloc(bytes, index);
  if (fail) throw new Error("the source broke");
}

test("only the bytes asked for are sent", async () => {
  const { server, storage } = await start();
  await storage.write("s3://bucket/a", Buffer.alloc(1_000_000, 7));
  await storage.read("s3://bucket/a", { start: 10, end: 110 });
  expect(await storage.read("s3://bucket/a", { start: 2_000_000 })).toHaveLength(0);
  expect(server.requests.filter(({ method }) => method === "GET").map(({ range, objectBytes }) => [range, objectBytes])).toEqual([
    ["bytes=10-109", 100],
    ["bytes=2000000-", 0],
  ]);
});

test("a long stream goes up in parts and appears when it is whole; one that breaks leaves neither object nor parts", async () => {
  const { server, storage } = await start();
  await storage.write("s3://bucket/long", pieces(17, 1 << 20));
  expect(server.requests.map(({ method, url }) => `${method} ${/partNumber=\d+|uploads|uploadId/.exec(url)?.[0] ?? ""}`)).toEqual(["POST uploads", "PUT partNumber=1", "PUT partNumber=2", "PUT partNumber=3", "POST uploadId"]);
  const read = await storage.read("s3://bucket/long");
  expect(read).toHaveLength(17 << 20);
  for (let index = 0; index < 17; index += 1) expect(read[index * (1 << 20) + 5]).toBe(index);
  await expect(storage.write("s3://bucket/broken", pieces(9, 1 << 20, true))).rejects.toThrow("the source broke");
  expect(await storage.stat("s3://bucket/broken")).toBeUndefined();
  expect(server.openUploads).toBe(0);
});

test("a long stream with ifAbsent: the one whose write it was succeeds after a lost answer, another is refused", async () => {
  let cuts = 1;
  const { server, storage } = await start(({ method, url }) => (method === "POST" && url.includes("uploadId") && cuts-- > 0 ? "cut-after" : undefined));
  await storage.write("s3://bucket/long", pieces(9, 1 << 20), { ifAbsent: true });
  expect(await storage.stat("s3://bucket/long")).toMatchObject({ bytes: 9 << 20 });
  await expect(storage.write("s3://bucket/long", pieces(9, 1 << 20), { ifAbsent: true })).rejects.toMatchObject({ code: "RIGGING_EXISTS" });
  expect(server.openUploads).toBe(0);
});

test("a listing longer than one page is complete, of a directory too", async () => {
  const { storage } = await start();
  const names = Array.from({ length: 230 }, (_, index) => `s3://bucket/n/${String(index).padStart(5, "0")}`);
  for (let at = 0; at < names.length; at += 46) await Promise.all(names.slice(at, at + 46).map((name, index) => storage.write(index % 2 === 0 ? name : `${name}/in it`, "x")));
  const seen: string[] = [];
  for await (const { path } of storage.list("s3://bucket/n/")) seen.push(path.replace("/in it", ""));
  expect(seen).toEqual(names);
  const entries: string[] = [];
  for await (const { path } of storage.listDirectory("s3://bucket/n")) entries.push(path.replace(/\/$/, ""));
  expect(entries).toEqual(names);
});

test("a bucket that does not exist, and no server", async () => {
  const { server, storage } = await start(undefined, 0);
  await expect(storage.read("s3://no-such-bucket/a")).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND", message: expect.stringContaining("no-such-bucket") as string });
  await expect(storage.writeIf("s3://no-such-bucket/a", "x", { version: "e" })).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
  await server.close();
  const other = createStorage({ s3: { endpoint: server.endpoint, credentials: "anonymous", maxRetries: 0 } });
  await expect(other.read("s3://bucket/a")).rejects.toMatchObject({ code: "RIGGING_STORAGE_UNAVAILABLE", message: expect.stringContaining("ECONNREFUSED") as string });
});
