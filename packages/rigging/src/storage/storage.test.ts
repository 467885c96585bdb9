import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GcsServer, startGcsServer } from "../gcs-server/server.js";
import { createStorage, openStorage } from "./create.js";
import type { Storage } from "./storage.js";

let directory: string;
let server: GcsServer;
let storage: Storage;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rigging-storage-"));
  server = await startGcsServer({ buckets: ["bucket"] });
  storage = createStorage({ gcs: { endpoint: server.endpoint } });
});
afterAll(async () => {
  await server.close();
  await rm(directory, { recursive: true });
});

const text = async (path: string, options?: Parameters<Storage["read"]>[1]): Promise<string> => Buffer.from(await storage.read(path, options)).toString("utf8");
async function listed(prefix: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path } of storage.list(prefix)) paths.push(path);
  return paths;
}
async function* chunks(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

describe.each([
  ["a directory", () => join(directory, "d")],
  ["a file: URL", () => pathToFileURL(join(directory, "u")).href],
  ["a bucket", () => "gs://bucket/d"],
  ["memory", () => "memory://d"],
])("in %s", (_kind, base) => {
  test("what is written reads back, whole, in parts and as a stream", async () => {
    const path = `${base()}/deep/a ü#?%.bin`;
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.nat(320), fc.nat(320), fc.boolean(), async (content, a, b, asStream) => {
        const [start, end] = [Math.min(a, b), Math.max(a, b)];
        await storage.write(path, asStream ? chunksOf(content) : content);
        expect([...(await storage.read(path))]).toEqual([...content]);
        expect([...(await storage.read(path, { start, end }))]).toEqual([...content.slice(start, end)]);
        const streamed: number[] = [];
        for await (const chunk of storage.stream(path, { start })) streamed.push(...chunk);
        expect(streamed).toEqual([...content.slice(start)]);
        expect((await storage.stat(path))?.bytes).toBe(content.length);
      }),
      { numRuns: 25 },
    );
  });

  test("text is UTF-8; a new write replaces the old one and changes the version", async () => {
    const path = `${base()}/text`;
    await storage.write(path, "eins ü");
    const before = await storage.stat(path);
    await storage.write(path, "zwei");
    expect(await text(path)).toBe("zwei");
    expect((await storage.stat(path))?.version).not.toBe(before?.version);
  });

  test("ifAbsent: of several at once exactly one writes, and it is whole", async () => {
    const path = `${base()}/once`;
    const tries = await Promise.allSettled(["a", "b", "c", "d"].map((letter) => storage.write(path, letter.repeat(1000), { ifAbsent: true })));
    expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const result of tries) if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "RIGGING_EXISTS", data: { path: expect.stringContaining("once") as string } });
    expect(await text(path)).toMatch(/^(a{1000}|b{1000}|c{1000}|d{1000})$/);
  });

  test("a write whose source fails, or that is aborted, leaves what was there", async () => {
    const path = `${base()}/failed`;
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("half");
      throw new Error("the source broke");
    }
    await expect(storage.write(path, failing())).rejects.toThrow("the source broke");
    expect(await storage.stat(path)).toBeUndefined();
    await storage.write(path, "old");
    const controller = new AbortController();
    async function* aborting(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("new");
      controller.abort(new Error("stopped"));
      yield Buffer.from("er");
    }
    await expect(storage.write(path, aborting(), { signal: controller.signal })).rejects.toThrow("stopped");
    expect(await text(path)).toBe("old");
  });

  test("listings are sorted by UTF-8, complete and of the prefix only; what is not there lists nothing", async () => {
    const names = ["b", "a/z", "a/b", "a.txt", "a-b", "aa", "é", "😀", "\uFFFD"];
    for (const name of names) await storage.write(`${base()}/list/${name}`, name);
    const inside = (prefix: string): string => `${base()}/list/${prefix}`;
    const sorted = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const seen = (await listed(inside(""))).map((path) => path.slice(inside("").length));
    expect(seen).toEqual(sorted);
    expect(await listed(inside("a/"))).toEqual([inside("a/b"), inside("a/z")]);
    expect(await listed(inside("a"))).toEqual(["a-b", "a.txt", "a/b", "a/z", "aa"].map(inside));
    expect(await listed(inside("none/"))).toEqual([]);
  });

  test("what is not there: reading is an error, stat and remove are not", async () => {
    const path = `${base()}/none`;
    await expect(storage.read(path)).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND", message: expect.stringContaining("none") as string });
    await expect(storage.read(path, { start: 1, end: 1 })).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
    await expect(storage.stream(path)[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
    expect(await storage.stat(path)).toBeUndefined();
    expect(await storage.remove(path)).toBe(false);
    await storage.write(path, "");
    expect(await storage.stat(path)).toMatchObject({ bytes: 0 });
    expect(await text(path)).toBe("");
    expect(await storage.remove(path)).toBe(true);
    expect(await storage.stat(path)).toBeUndefined();
  });

  test.each([{ start: -1 }, { end: 1.5 }, { start: 3, end: 2 }])("the range %j is refused", async (range) => {
    await expect(storage.read(`${base()}/text`, range)).rejects.toMatchObject({ code: "RIGGING_BAD_RANGE" });
  });

  test("a root: paths are relative to it, and none leads out", async () => {
    const root = openStorage(`${base()}/root`, storage);
    await root.write("x/a", chunks("1", "2"));
    expect(await text(`${base()}/root/x/a`)).toBe("12");
    const entries = [];
    for await (const entry of root.list("")) entries.push(entry);
    expect(entries).toEqual([{ path: "x/a", bytes: 2 }]);
    for (const path of ["../b", "x/../../b", "/etc/passwd", "gs://bucket/b", "memory://b"]) {
      await expect(root.read(path)).rejects.toMatchObject({ code: "RIGGING_BAD_PATH" });
    }
  });
});

async function* chunksOf(content: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 7) yield content.subarray(at, at + 7);
}

test("paths that name nothing are refused", async () => {
  await expect(storage.read("s3://bucket/a")).rejects.toMatchObject({ code: "RIGGING_UNKNOWN_SCHEME", message: expect.stringContaining("gs://bucket/name") as string });
  for (const path of ["", "a\0b", "gs://bucket", "gs://bucket/", "gs:///a", "gs://B/a", "file://elsewhere/a"]) {
    await expect(storage.read(path), path).rejects.toMatchObject({ code: "RIGGING_BAD_PATH" });
  }
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
