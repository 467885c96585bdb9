import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeStorage } from "../../test/storage-suite.js";
import { type GcsServer, startGcsServer } from "../gcs-server/server.js";
import { type S3Server, startS3Server } from "../s3-server/server.js";
import { createStorage, openStorage } from "./create.js";
import type { Storage } from "./storage.js";

let directory: string;
let gcs: GcsServer;
let s3: S3Server;
let storage: Storage;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rigging-storage-"));
  gcs = await startGcsServer({ buckets: ["bucket"] });
  s3 = await startS3Server({ buckets: ["bucket"] });
  storage = createStorage({ gcs: { endpoint: gcs.endpoint }, s3: { endpoint: s3.endpoint, credentials: "anonymous" } });
});
afterAll(async () => {
  await gcs.close();
  await s3.close();
  await rm(directory, { recursive: true });
});

describeStorage("a directory", () => ({ storage, base: join(directory, "d") }));
describeStorage("a file: URL", () => ({ storage, base: pathToFileURL(join(directory, "u")).href }), { without: ["z b+c%2B"] });
describeStorage("a bucket of Google's", () => ({ storage, base: "gs://bucket/d" }));
describeStorage("a bucket of S3", () => ({ storage, base: "s3://bucket/d" }), { renames: "refused" });
describeStorage("memory", () => ({ storage, base: "memory://d" }));

async function listed(prefix: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path } of storage.list(prefix)) paths.push(path);
  return paths;
}

test("paths that name nothing are refused", async () => {
  await expect(storage.read("ftp://bucket/a")).rejects.toMatchObject({ code: "RIGGING_UNKNOWN_SCHEME", message: expect.stringContaining("gs://bucket/name") as string });
  for (const path of ["", "a\0b", "gs://bucket", "gs://bucket/", "gs:///a", "gs://B/a", "s3://bucket", "s3:///a", "file://elsewhere/a"]) {
    await expect(storage.read(path), path).rejects.toMatchObject({ code: "RIGGING_BAD_PATH" });
  }
  for (const half of ["\ud83d", "a\ude00b"]) {
    for (const base of ["/tmp/", "memory://", "gs://bucket/", "s3://bucket/"]) await expect(storage.write(base + half, "x"), base).rejects.toMatchObject({ code: "RIGGING_BAD_PATH", message: expect.stringContaining("surrogate") as string });
  }
});

test("what names a directory, or nothing, is told so where a file is to be written", async () => {
  const inside = openStorage(join(directory, "rooted"), storage);
  await inside.write("a", "x");
  for (const path of ["", "c/", "c/d/"]) {
    for (const writing of [() => inside.write(path, "x"), () => inside.writeIf(path, "x", { version: undefined }), () => inside.copy("a", path), () => inside.rename("a", path)]) {
      await expect(writing(), path).rejects.toMatchObject({ code: "RIGGING_BAD_PATH", message: expect.stringContaining("a name") as string });
    }
  }
  expect(await readdir(join(directory, "rooted"))).toEqual(["a"]);
});

test("the temporary files of running writers are not listed; a directory is no object; a name under a file cannot be written", async () => {
  await mkdir(join(directory, "t"));
  let seen: string[] = [];
  async function* looking(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("half");
    expect(await readdir(join(directory, "t"))).toHaveLength(1);
    seen = await listed(`${directory}/t/`);
  }
  await storage.write(`${directory}/t/a`, looking());
  expect(seen).toEqual([]);
  expect(await storage.stat(join(directory, "t"))).toBeUndefined();
  await expect(storage.read(join(directory, "t"))).rejects.toMatchObject({ code: "RIGGING_IS_DIRECTORY" });
  await writeFile(join(directory, "file"), "");
  await expect(storage.write(join(directory, "file", "a"), "x")).rejects.toMatchObject({ code: "RIGGING_EXISTS" });
});
