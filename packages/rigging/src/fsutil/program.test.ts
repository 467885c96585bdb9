import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createStorage } from "../storage/create.js";
import type { Storage } from "../storage/storage.js";
import { startGcsServer } from "../gcs-server/server.js";
import { runFsutil } from "./program.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rigging-fsutil-"));
});
afterAll(() => rm(directory, { recursive: true }));

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(argv: readonly string[], storage: Storage = createStorage(), signal = new AbortController().signal): Promise<Outcome> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  stdout.on("data", (chunk: Buffer) => void out.push(chunk));
  stderr.on("data", (chunk: Buffer) => void err.push(chunk));
  const code = await runFsutil(argv, { stdout, stderr, interactive: false, signal }, storage);
  return { code, out: Buffer.concat(out).toString("utf8"), err: Buffer.concat(err).toString("utf8") };
}

const lines = (text: string): unknown[] => text.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line) as unknown);

async function tree(name: string): Promise<string> {
  const root = join(directory, name);
  await mkdir(join(root, "deep/er"), { recursive: true });
  await Promise.all([writeFile(join(root, "a.txt"), "hello\n"), writeFile(join(root, "deep/b c.txt"), "x".repeat(3000)), writeFile(join(root, "deep/er/c.txt"), "")]);
  return root;
}

/** What one of the system's own tools prints. */
function tool(name: string, ...argv: readonly string[]): string {
  return execFileSync(name, argv).toString();
}

test("ls, du, stat, hash, cat and rm on a disk, as coreutils say", async () => {
  const root = await tree("one");
  expect((await run(["ls", root])).out).toBe(`${root}/a.txt\n${root}/deep/\n`);
  expect((await run(["ls", "-r", "-l", root])).out).toBe(`        6B  ${root}/a.txt\n    2.9KiB  ${root}/deep/b c.txt\n        0B  ${root}/deep/er/c.txt\n`);
  expect((await run(["ls", `${root}/**/*.txt`])).out.split("\n")).toHaveLength(4);
  expect(lines((await run(["du", "--json", "--depth", "1", root])).out)).toEqual([{ path: `${root}/`, objects: 3, bytes: 3006 }, { path: `${root}/deep/`, objects: 2, bytes: 3000 }]);
  const files = [`${root}/a.txt`, `${root}/deep/b c.txt`, `${root}/deep/er/c.txt`];
  expect((await run(["hash", root])).out).toBe(tool("sha256sum", ...files));
  expect((await run(["hash", "-a", "md5", ...files])).out).toBe(tool("md5sum", ...files));
  expect((await run(["cat", ...files])).out).toBe(tool("cat", ...files));
  expect((await run(["cat", "--start", "1", "--end", "4", `${root}/a.txt`])).out).toBe("ell");
  expect(lines((await run(["stat", "--json", `${root}/a.txt`])).out)).toMatchObject([{ path: `${root}/a.txt`, bytes: 6 }]);
  expect((await run(["rm", root])).code).toBe(1);
  expect((await run(["rm", "-r", "-n", root])).out).toContain(`would remove ${root}/a.txt`);
  expect((await run(["rm", "-r", root])).code).toBe(0);
  expect(await readdir(directory)).not.toContain("one");
  expect(await run(["rm", root])).toMatchObject({ code: 1, err: `error: There is nothing at ${root}.\n` });
  expect((await run(["rm", "-f", root])).code).toBe(0);
});

test("cp copies between kinds of storage, verified, and replaces only when told to", async () => {
  const root = await tree("two");
  await using server = await startGcsServer({ buckets: ["bucket"] });
  const storage = createStorage({ gcs: { endpoint: server.endpoint } });
  const copied = lines((await run(["cp", "--json", "-r", root, "gs://bucket/copy"], storage)).out) as { to: string; sha256: string }[];
  expect(copied.map(({ to }) => to).sort()).toEqual(["gs://bucket/copy/a.txt", "gs://bucket/copy/deep/b c.txt", "gs://bucket/copy/deep/er/c.txt"]);
  expect(copied.find(({ to }) => to.endsWith("a.txt"))?.sha256).toBe(createHash("sha256").update("hello\n").digest("hex"));
  expect((await run(["ls", "gs://bucket/copy"], storage)).out).toBe("gs://bucket/copy/a.txt\ngs://bucket/copy/deep/\n");
  expect((await run(["ls", "gs://bucket"], storage)).out).toBe("gs://bucket/copy/\n");
  // Into a directory that is there; to a new name; a pattern into a directory.
  await run(["cp", "-r", "gs://bucket/copy/deep", `${directory}/`], storage);
  expect(await readFile(join(directory, "deep/b c.txt"), "utf8")).toBe("x".repeat(3000));
  await run(["cp", "gs://bucket/copy/a.txt", join(directory, "renamed.txt")], storage);
  expect(await readFile(join(directory, "renamed.txt"), "utf8")).toBe("hello\n");
  expect((await run(["cp", "gs://bucket/copy/**/*.txt", "memory://all/"], storage)).code).toBe(0);
  expect((await run(["ls", "memory://all"], storage)).out).toBe("memory://all/a.txt\nmemory://all/b c.txt\nmemory://all/c.txt\n");
  expect(await run(["cp", join(directory, "renamed.txt"), "gs://bucket/copy/a.txt"], storage)).toMatchObject({ code: 1, err: expect.stringContaining("gs://bucket/copy/a.txt") as string });
  await writeFile(join(directory, "renamed.txt"), "other");
  expect((await run(["cp", "-f", join(directory, "renamed.txt"), "gs://bucket/copy/a.txt"], storage)).code).toBe(0);
  expect((await run(["cat", "gs://bucket/copy/a.txt"], storage)).out).toBe("other");
  expect(await run(["cp", "gs://bucket/copy", "memory://x"], storage)).toMatchObject({ code: 1, err: expect.stringContaining("give -r") as string });
  expect(await run(["cp", "gs://bucket/copy/a.txt", join(root, "a.txt"), "memory://y/"], storage)).toMatchObject({ code: 1, err: expect.stringContaining("Two of the sources") as string });
});

test("a copy that is not what was read is an error", async () => {
  const storage = createStorage();
  await storage.write("memory://source", "right");
  const lossy: Storage = new Proxy(storage, {
    get: (target, name) => (name === "write" ? async (path: string, data: AsyncIterable<Uint8Array>) => {
      for await (const chunk of data) void chunk;
      await target.write(path, "wrong");
    } : (Reflect.get(target, name) as (...args: unknown[]) => unknown).bind(target)),
  });
  const { code, out } = await run(["cp", "--json", "memory://source", "memory://copy"], lossy);
  expect([code, lines(out)]).toEqual([1, [{ error: expect.objectContaining({ code: "RIGGING_COPY_DIFFERS" }) as unknown }]]);
});

test("wrong usage is told as such, with what was meant; with --json nothing but JSON is on standard output", async () => {
  expect(await run(["sl", "x"])).toMatchObject({ code: 2, out: "", err: expect.stringContaining("Did you mean ls?") as string });
  for (const argv of [["ls"], ["ls", "--jsn", "x"], ["cp", "a"], ["cat", "--start", "-1", "x"], ["hash", "-a", "rot13", "x"], []]) expect((await run(argv)).code).toBe(2);
  for (const argv of [["--help"], ["cp", "--help"]]) expect(await run(argv)).toMatchObject({ code: 0, err: "", out: expect.stringContaining("Usage: fsutil") as string });
  expect(lines((await run(["cat", "--json", join(directory, "none")])).out)).toEqual([{ error: { code: "RIGGING_NOT_FOUND", message: expect.any(String) as string, data: { path: join(directory, "none") } } }]);
});

const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

/** @param variables - beside this process's own */
function start(argv: readonly string[], variables: Readonly<Record<string, string>> = {}): ChildProcess {
  return spawn(process.execPath, ["--conditions=@marin/source", "--import", tsx, fileURLToPath(new URL("main.ts", import.meta.url)), ...argv], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...variables } });
}

test("Ctrl-C in the middle of a copy: exit code 130, nothing at the target, nothing beside it", async () => {
  // A web server that sends a part of the object and then no more.
  let stalled = (): void => undefined;
  const began = new Promise<void>((resolve) => (stalled = resolve));
  const server = createServer((request, response) => {
    response.writeHead(request.headers.range === undefined ? 200 : 206, { "content-length": 2 ** 20, etag: '"1"', "accept-ranges": "bytes", "content-range": `bytes 0-${String(2 ** 20 - 1)}/${String(2 ** 20)}` });
    if (request.method === "HEAD") return void response.end();
    response.write(Buffer.alloc(70_000));
    stalled();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const target = join(directory, "interrupted");
  await mkdir(target);
  const child = start(["cp", `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/big`, `${target}/`]);
  let err = "";
  child.stderr?.on("data", (chunk: Buffer) => void (err += chunk.toString()));
  const ended = once(child, "exit") as Promise<[number]>;
  await Promise.race([began, ended]);
  child.kill("SIGINT");
  expect([(await ended)[0], err]).toEqual([130, "interrupted\n"]);
  expect(await readdir(target)).toEqual([]);
  await new Promise((resolve) => (server.close(resolve), server.closeAllConnections()));
});

test("a reader that stops early, as head does, is no failure; paths begin where the user called pnpm", async () => {
  await writeFile(join(directory, "large"), Buffer.alloc(8 * 2 ** 20, "line\n"));
  const child = start(["cat", "large"], { npm_lifecycle_event: "fsutil", INIT_CWD: directory });
  const ended = once(child, "exit") as Promise<[number]>;
  child.stdout?.once("data", () => child.stdout?.destroy());
  expect((await ended)[0]).toBe(0);
});
