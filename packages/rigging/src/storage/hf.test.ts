import { createHash } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { fileAnswer, startWebServer, type WebServer } from "../../test/web-server.js";
import { SecretStore } from "../secrets.js";
import type { FaultChooser, ReadyAnswer } from "../testing/faults.js";
import { createStorage } from "./create.js";
import type { Storage } from "./storage.js";

const large = Buffer.from(Array.from({ length: 40_000 }, (_, index) => (index * 13) % 241));
const commits = { first: "a".repeat(40), second: "b".repeat(40) };
const trees: Record<string, Record<string, Buffer>> = {
  [commits.first]: { "README.md": Buffer.from("# first\n"), "data/train-00.parquet": large, "data/train 1.parquet": Buffer.from("x"), "data/deep/z.txt": Buffer.from("z") },
  [commits.second]: { "README.md": Buffer.from("# second\n") },
};
const running: WebServer[] = [];
afterEach(() => Promise.all(running.splice(0).map((server) => server[Symbol.asyncDispose]())));

interface Hub {
  readonly hub: WebServer;
  readonly store: WebServer;
  readonly storage: Storage;
  /** What the branch "main" points to. */
  branch: string;
}

/** The hub, as far as it is read from, and the store that it sends to for large files. */
async function startHub({ fault, corrupt = false, stallMs = 60_000 }: { readonly fault?: FaultChooser; readonly corrupt?: boolean; readonly stallMs?: number } = {}): Promise<Hub> {
  const json = (value: unknown, headers = {}): ReadyAnswer => ({ status: 200, headers: { "content-type": "application/json", ...headers }, body: Buffer.from(JSON.stringify(value)) });
  const described = (path: string, content: Buffer): object => ({
    type: "file",
    path,
    size: content.length,
    oid: createHash("sha1").update(`blob ${String(content.length)}\0`).update(content).digest("hex"),
    ...(path.endsWith(".parquet") ? { lfs: { oid: createHash("sha256").update(content).digest("hex"), size: content.length, pointerSize: 130 } } : {}),
  });
  const store = await startWebServer({ answer: (request) => fileAnswer({ content: corrupt ? Buffer.from(large).fill(1, 100, 101) : large }, request), ...(fault === undefined ? {} : { fault }) });
  const state = { branch: commits.first };
  const hub = await startWebServer({
    answer: (request, body) => {
      if (request.headers.authorization !== "Bearer hf_secret_token") return { status: 401, headers: {}, body: Buffer.alloc(0) };
      const { pathname, searchParams } = new URL(request.url, "http://hub");
      const [, revision] = /^\/api\/datasets\/owner\/name\/revision\/(.*)$/.exec(pathname) ?? [];
      if (revision !== undefined) return revision === "main" || revision === "refs%2Fpr%2F1" ? json({ sha: state.branch }) : undefined;
      const [, commit = "", part, rest = ""] = /^\/(?:api\/datasets\/owner\/name\/(?:paths-info|tree)|datasets\/owner\/name\/resolve)\/([0-9a-f]{40})(\/(.*))?$/.exec(pathname) ?? [];
      const files = trees[commit];
      if (files === undefined) return undefined;
      const name = decodeURIComponent(rest);
      if (pathname.includes("/paths-info/")) return json((JSON.parse(body) as { paths: string[] }).paths.flatMap((path) => (files[path] === undefined ? [] : [described(path, files[path])])));
      if (pathname.includes("/resolve/")) return name.endsWith("00.parquet") ? { status: 302, headers: { location: `${store.endpoint}/${name}` }, body: Buffer.alloc(0) } : files[name] && fileAnswer({ content: files[name] }, request);
      const inside = Object.entries(files).filter(([path]) => name === "" || path.startsWith(`${name}/`));
      if (part !== undefined && inside.length === 0) return undefined;
      const prefix = name === "" ? "" : `${name}/`;
      const flat = inside.filter(([path]) => !path.slice(prefix.length).includes("/")).map(([path, content]) => described(path, content));
      const folders = [...new Set(inside.flatMap(([path]) => (path.slice(prefix.length).includes("/") ? [prefix + (path.slice(prefix.length).split("/")[0] ?? "")] : [])))].map((path) => ({ type: "directory", path, size: 0, oid: "" }));
      const all = searchParams.get("recursive") === "true" ? inside.map(([path, content]) => described(path, content)) : [...folders, ...flat];
      const at = Number(searchParams.get("cursor") ?? 0);
      // Two a page.
      const link = at + 2 < all.length ? { link: `<http://${request.headers.host ?? ""}${pathname}?recursive=${searchParams.get("recursive") ?? ""}&cursor=${String(at + 2)}>; rel="next"` } : {};
      return json(all.slice(at, at + 2), link);
    },
  });
  running.push(hub, store);
  const secrets = new SecretStore({ env: { HF_TOKEN: "hf_secret_token" } });
  return Object.assign(state, { hub, store, storage: createStorage({ hf: { endpoint: hub.endpoint, secrets, maxRetries: 3, stallMs } }) });
}

const base = "hf://datasets/owner/name";

test("files whole, in parts and described; large ones from where the hub sends to, without the token", async () => {
  const { storage, store, hub } = await startHub();
  expect(Buffer.from(await storage.read(`${base}/README.md`)).toString()).toBe("# first\n");
  const path = `${base}@main/data/train-00.parquet`;
  const sha256 = createHash("sha256").update(large).digest("hex");
  expect(await storage.stat(path)).toEqual({ bytes: 40_000, version: sha256, digest: `sha256:${sha256}` });
  expect(large.equals(await storage.read(path))).toBe(true);
  expect(large.subarray(10, 30).equals(await storage.read(path, { start: 10, end: 30 }))).toBe(true);
  expect(await storage.read(path, { start: 50_000 })).toHaveLength(0);
  expect(store.requests.every(({ headers }) => headers.authorization === undefined)).toBe(true);
  expect(hub.requests.every(({ headers }) => headers.authorization === "Bearer hf_secret_token")).toBe(true);
  await expect(storage.read(`${base}/none`)).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
  expect(await storage.stat(`${base}/none`)).toBeUndefined();
});

test("a branch is pinned to one commit; a commit, and a revision with a slash, are taken as they are", async () => {
  const hub = await startHub();
  expect(Buffer.from(await hub.storage.read(`${base}/README.md`)).toString()).toBe("# first\n");
  hub.branch = commits.second;
  expect(Buffer.from(await hub.storage.read(`${base}/README.md`)).toString()).toBe("# first\n");
  expect(Buffer.from(await hub.storage.read(`${base}@${commits.second}/README.md`)).toString()).toBe("# second\n");
  expect(Buffer.from(await hub.storage.read(`${base}@refs%2Fpr%2F1/README.md`)).toString()).toBe("# second\n");
  const later = createStorage({ hf: { endpoint: hub.hub.endpoint, secrets: new SecretStore({ env: { MARIN_SECRET_HF_TOKEN: "hf_secret_token" } }) } });
  expect(Buffer.from(await later.read(`${base}@main/README.md`)).toString()).toBe("# second\n");
  await expect(hub.storage.read(`${base}@no-such/README.md`)).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
});

test("listings in pages, directories, globs", async () => {
  const { storage } = await startHub();
  const paths = async (entries: AsyncIterable<{ readonly path: string }>): Promise<string[]> => {
    const found: string[] = [];
    for await (const { path } of entries) found.push(path.slice(base.length + 1));
    return found;
  };
  expect(await paths(storage.list(`${base}/`))).toEqual(["README.md", "data/deep/z.txt", "data/train 1.parquet", "data/train-00.parquet"]);
  expect(await paths(storage.list(`${base}/data/train-`))).toEqual(["data/train-00.parquet"]);
  expect(await paths(storage.listDirectory(`${base}/data`))).toEqual(["data/deep/", "data/train 1.parquet", "data/train-00.parquet"]);
  expect(await paths(storage.glob(`${base}/data/*.parquet`))).toEqual(["data/train 1.parquet", "data/train-00.parquet"]);
  expect(await paths(storage.glob(`${base}/**/*.{md,txt}`))).toEqual(["README.md", "data/deep/z.txt"]);
  expect(await paths(storage.list(`${base}/none/`))).toEqual([]);
});

test("a download that is cut goes on where it was, and is checked at its end", async () => {
  const faults = [{ cutAt: 9000 }, { stallAt: 7000 }];
  const { storage, store } = await startHub({ fault: () => faults.shift(), stallMs: 500 });
  expect(large.equals(await storage.read(`${base}/data/train-00.parquet`))).toBe(true);
  // A busy machine may take an answer for one that stands still, and ask for the same again.
  expect([...new Set(store.requests.map(({ headers }) => headers.range))]).toEqual([undefined, "bytes=9000-", "bytes=16000-"]);
});

test("other bytes than the hub describes are refused", async () => {
  const { storage } = await startHub({ corrupt: true });
  await expect(storage.read(`${base}/data/train-00.parquet`)).rejects.toMatchObject({ code: "RIGGING_CORRUPT" });
  await storage.copy(`${base}/README.md`, "memory://readme");
  await expect(storage.copy(`${base}/data/train-00.parquet`, "memory://copy")).rejects.toMatchObject({ code: "RIGGING_CORRUPT" });
  expect(await storage.stat("memory://copy")).toBeUndefined();
});

test("without a token it says which to set; it is read-only; paths that name nothing are refused", async () => {
  const { hub, storage } = await startHub();
  const anonymous = createStorage({ hf: { endpoint: hub.endpoint, secrets: new SecretStore({ env: {} }) } });
  await expect(anonymous.read(`${base}/README.md`)).rejects.toMatchObject({ code: "RIGGING_NO_CREDENTIALS", message: expect.stringContaining("HF_TOKEN") as string });
  await expect(storage.write(`${base}/README.md`, "x")).rejects.toMatchObject({ code: "RIGGING_UNSUPPORTED" });
  for (const path of ["hf://datasets/owner", "hf://datasets/owner/name", "hf://datasets/owner/name@main", "hf:///a/b"]) await expect(storage.read(path), path).rejects.toMatchObject({ code: "RIGGING_BAD_PATH" });
});
