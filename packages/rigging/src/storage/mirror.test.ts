import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startS3Server } from "../s3-server/server.js";
import { createStorage } from "./create.js";
import type { Storage } from "./storage.js";

async function setting(): Promise<AsyncDisposable & { readonly storage: Storage; readonly others: Storage; readonly reads: () => string[] }> {
  const server = await startS3Server({ buckets: ["far", "farther"] });
  const local = await mkdtemp(join(tmpdir(), "rigging-mirror-"));
  const make = (): Storage => createStorage({ s3: { endpoint: server.endpoint, credentials: "anonymous" }, mirror: { local, remotes: ["s3://far/data", "s3://farther/data/"] } });
  const reads = (): string[] => server.requests.filter(({ method, objectBytes }) => method === "GET" && objectBytes > 0).map(({ url }) => url.replace(/\?.*/, ""));
  return {
    storage: make(),
    others: make(),
    reads,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await rm(local, { recursive: true });
    },
  };
}

const text = async (storage: Storage, path: string): Promise<string> => Buffer.from(await storage.read(path)).toString();
async function names(entries: AsyncIterable<{ readonly path: string }>): Promise<string[]> {
  const found: string[] = [];
  for await (const { path } of entries) found.push(path);
  return found;
}

test("what is read is copied once, whoever asks, and stays readable when it is gone far away", async () => {
  await using place = await setting();
  const { storage, others, reads } = place;
  await storage.write("s3://far/data/a/b.bin", Buffer.alloc(100_000, 5));
  await storage.write("s3://farther/data/a/b.bin", "not asked for: the first has it");
  const all = await Promise.all([storage, others, storage, others].map((one) => one.read("mirror://a/b.bin")));
  for (const bytes of all) expect(Buffer.alloc(100_000, 5).equals(bytes)).toBe(true);
  expect(reads()).toEqual(["/far/data/a/b.bin"]);
  await storage.remove("s3://far/data/a/b.bin");
  expect(await storage.read("mirror://a/b.bin", { start: 5, end: 8 })).toHaveLength(3);
  expect(reads()).toHaveLength(1);
});

test("listings are a union, the near ones win; writing and removing are near alone", async () => {
  await using place = await setting();
  const { storage } = place;
  await storage.write("s3://far/data/b", "far b");
  await storage.write("s3://far/data/d/e", "far e");
  await storage.write("s3://farther/data/c", "farther c");
  await storage.write("s3://farther/data/b", "farther b");
  await storage.write("mirror://a", "near a");
  await storage.write("mirror://b", "near b, longer");
  expect(await names(storage.list("mirror://"))).toEqual(["mirror://a", "mirror://b", "mirror://c", "mirror://d/e"]);
  expect(await names(storage.listDirectory("mirror://"))).toEqual(["mirror://a", "mirror://b", "mirror://c", "mirror://d/"]);
  expect(await names(storage.glob("mirror://*/{e,f}"))).toEqual(["mirror://d/e"]);
  expect(await text(storage, "mirror://b")).toBe("near b, longer");
  expect(await text(storage, "mirror://c")).toBe("farther c");
  expect((await storage.stat("mirror://d/e"))?.bytes).toBe(5);
  expect(await names(storage.list("s3://far/data/"))).toEqual(["s3://far/data/b", "s3://far/data/d/e"]);
  expect(await storage.remove("mirror://b")).toBe(true);
  expect(await text(storage, "mirror://b")).toBe("far b");
  await expect(storage.read("mirror://none")).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
});

test("paths that lead out, and a storage without a mirror, are refused", async () => {
  await using place = await setting();
  for (const path of ["mirror://", "mirror://../a", "mirror://a/../../b", "mirror:///etc/passwd", "mirror://.mirror-locks/a"]) await expect(place.storage.read(path), path).rejects.toMatchObject({ code: "RIGGING_BAD_PATH" });
  await expect(createStorage().read("mirror://a")).rejects.toMatchObject({ code: "RIGGING_BAD_PATH", message: expect.stringContaining("remotes") as string });
});
