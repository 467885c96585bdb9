import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStorage } from "@marin/iris";
import { startGcsServer, startS3Server } from "@marin/iris/testing";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gather } from "../test/read-all.js";
import { readRecords } from "./readers/records.js";
import { resolveFiles } from "./sources.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-sources-"));
});
afterAll(() => rm(directory, { recursive: true }));

describe("the files that patterns name", () => {
  test("on a disk: braces and wildcards, sorted by bytes, each once, with size, format and version", async () => {
    await mkdir(join(directory, "b"));
    for (const name of ["a.jsonl", "Z.jsonl", "é.jsonl", "b/c.csv.gz", "b/.hidden.jsonl"]) await writeFile(join(directory, name), "x".repeat(name.length));
    const files = await resolveFiles([join(directory, "*.jsonl"), join(directory, "{a.jsonl,b/*}")]);
    expect(files.map(({ path, format, bytes }) => [path.slice(directory.length + 1), format, bytes])).toEqual([["Z.jsonl", "jsonl", 7], ["a.jsonl", "jsonl", 7], ["b/c.csv.gz", "csv", 10], ["é.jsonl", "jsonl", 7]]);
    expect(files.every(({ version }) => version !== undefined)).toBe(true);
  });

  test("in buckets, in memory, on a web server", async () => {
    const [gcs, s3] = await Promise.all([startGcsServer({ buckets: ["my-bucket"] }), startS3Server({ buckets: ["my-bucket"] })]);
    const { server, origin } = await serve((path) => (path.startsWith("/a") ? "1\n" : undefined));
    try {
      const storage = createStorage({ gcs: { endpoint: gcs.endpoint }, s3: { endpoint: s3.endpoint, credentials: "anonymous" } });
      for (const root of ["gs://my-bucket/", "s3://my-bucket/", "memory://"]) {
        for (const name of ["d/x-00.jsonl", "d/x-01.jsonl", "d/y.jsonl"]) await storage.write(root + name, "1\n2\n");
        const files = await resolveFiles(`${root}d/x-{00..01}.jsonl`, { storage });
        expect(files).toMatchObject([{ path: `${root}d/x-00.jsonl`, bytes: 4, format: "jsonl" }, { path: `${root}d/x-01.jsonl`, bytes: 4 }]);
        expect(await resolveFiles(`${root}**/*.jsonl`, { storage })).toHaveLength(3);
        expect(await gather(readRecords(files[0]!, { storage }))).toEqual([1, 2]);
      }
      const web = await resolveFiles(`${origin}/{a0,a1}.jsonl`, { storage });
      expect(web.map(({ path, bytes }) => [path, bytes])).toEqual([[`${origin}/a0.jsonl`, 2], [`${origin}/a1.jsonl`, 2]]);
      expect(await gather(readRecords(web[1]!, { storage }))).toEqual([1]);
      await expect(resolveFiles(`${origin}/*.jsonl`, { storage })).rejects.toMatchObject({ code: "RIGGING_UNSUPPORTED", message: expect.stringContaining("name the files") as string });
    } finally {
      server.close();
      await Promise.all([gcs.close(), s3.close()]);
    }
  });

  test("what is not there, of no kind that is read, or cannot be reached fails at once, and says what to do", async () => {
    const storage = createStorage({ http: { maxRetries: 0 } });
    await storage.write("memory://d/a.jsonl", "");
    await storage.write("memory://d/b.zzz", "");
    const refused = (pattern: string, options = {}): Promise<unknown> => resolveFiles(pattern, { storage, ...options }).catch((error: unknown) => error);
    expect(await refused("memory://d/*.csv")).toMatchObject({ code: "ZEPHYR_NO_FILES", data: { pattern: "memory://d/*.csv" } });
    expect(await refused("memory://d/*.csv", { emptyOk: true })).toEqual([]);
    expect(await refused("memory://d/{a,c}.jsonl")).toMatchObject({ code: "RIGGING_NOT_FOUND", message: expect.stringContaining("memory://d/c.jsonl") as string });
    expect(await refused(directory)).toMatchObject({ code: "RIGGING_IS_DIRECTORY" });
    expect(await refused("memory://d/*")).toMatchObject({ code: "ZEPHYR_UNKNOWN_FORMAT", message: expect.stringContaining("memory://d/b.zzz") as string });
    expect(await refused("memory://d/*", { format: "jsonl" })).toHaveLength(2);
    expect(await refused("memory://d/a.jsonl", { format: "jsnol" })).toMatchObject({ code: "ZEPHYR_UNKNOWN_FORMAT", message: expect.stringContaining("jsonl") as string });
    expect(await refused("memory://d/a.jsonl", { settings: { delimiter: ";" } })).toMatchObject({ code: "ZEPHYR_BAD_SETTING" });
    expect(await refused("ftp://host/a.jsonl")).toMatchObject({ code: "RIGGING_UNKNOWN_SCHEME" });
    const { server, origin } = await serve(() => undefined, 403);
    expect(await refused(`${origin}/a.jsonl`)).toMatchObject({ code: "RIGGING_ACCESS_DENIED", message: expect.stringContaining("without credentials") as string });
    await new Promise((resolve) => server.close(resolve));
    expect(await refused(`${origin}/a.jsonl`)).toMatchObject({ code: "RIGGING_STORAGE_UNAVAILABLE", message: expect.stringContaining(origin) as string });
  });

  test("side files of several shards have names of their own, or the pattern is refused", async () => {
    const storage = createStorage();
    for (const name of ["a", "b"]) await storage.write(`memory://${name}.jsonl`, "");
    const sideFile = (pattern: string) => resolveFiles("memory://*.jsonl", { storage, onBadRecord: { skip: true, sideFile: pattern } });
    expect((await sideFile("memory://bad/{shard:03d}.jsonl")).map((file) => file.sideFile)).toEqual(["memory://bad/000.jsonl", "memory://bad/001.jsonl"]);
    await expect(sideFile("memory://bad.jsonl")).rejects.toMatchObject({ code: "ZEPHYR_BAD_PATTERN" });
  });
});

describe("files that are split", () => {
  test("the parts of a JSON Lines file are the file, wherever they are cut", () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.string({ maxLength: 12, unit: "grapheme" }), { maxLength: 12 }), fc.constantFrom("\n", "\r\n", "\n\n"), fc.boolean(), fc.integer({ min: 1, max: 40 }), async (texts, end, last, shardBytes) => {
        const storage = createStorage();
        await storage.write("memory://a.jsonl", texts.map((value) => JSON.stringify(value)).join(end) + (last ? end : ""));
        const files = await resolveFiles("memory://a.jsonl", { storage, shardBytes });
        const found: unknown[] = [];
        for (const file of files) found.push(...(await gather(readRecords(file, { storage }))));
        expect(found).toEqual(texts);
      }),
      { numRuns: 40 },
    ));

  test("errors in a part name the byte; packed files stay whole; a file that changed since planning is refused", async () => {
    const storage = createStorage();
    await storage.write("memory://a.jsonl", "1\n2\n3\nx\n5\n6\n");
    const parts = await resolveFiles("memory://a.jsonl", { storage, shardBytes: "4B" });
    expect(parts.map(({ part }) => part)).toEqual([{ start: 0, end: 4 }, { start: 4, end: 8 }, { start: 8, end: 12 }]);
    await expect(gather(readRecords(parts[1]!, { storage }))).rejects.toMatchObject({ code: "ZEPHYR_BAD_JSON", data: { offset: 6 }, message: expect.stringContaining("the line at byte 6") as string });
    await storage.write("memory://a.jsonl", "1\n2\n3\n4\n5\n6\n");
    await expect(gather(readRecords(parts[0]!, { storage }))).rejects.toMatchObject({ code: "RIGGING_CHANGED" });
    await storage.write("memory://b.jsonl.gz", Buffer.alloc(100));
    expect(await resolveFiles("memory://b.jsonl.gz", { storage, shardBytes: 10 })).toHaveLength(1);
    await expect(resolveFiles("memory://a.jsonl", { storage, shardBytes: 0 })).rejects.toMatchObject({ code: "ZEPHYR_BAD_COUNT" });
  });
});

/** A web server of texts; what it has not is answered with a status. */
async function serve(texts: (path: string) => string | undefined, status = 404): Promise<{ readonly server: Server; readonly origin: string }> {
  const server = createServer((request, response) => {
    const text = texts(request.url ?? "");
    response.writeHead(text === undefined ? status : 200, text === undefined ? {} : { "content-length": Buffer.byteLength(text), etag: '"1"' });
    response.end(request.method === "HEAD" ? undefined : text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, origin: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}` };
}
