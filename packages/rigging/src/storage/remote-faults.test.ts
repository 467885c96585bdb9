import { createHash } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { startGcsServer } from "../gcs-server/server.js";
import { startS3Server } from "../s3-server/server.js";
import type { FaultChooser, ServerFault } from "../testing/faults.js";
import { createStorage } from "./create.js";
import type { Storage } from "./storage.js";

interface Setting {
  readonly storage: Storage;
  readonly requests: readonly { readonly method: string; readonly url: string; readonly range: string }[];
}

interface Kind {
  readonly scheme: string;
  readonly start: (fault: FaultChooser, options?: { readonly maxRetries?: number; readonly stallMs?: number }) => Promise<Setting>;
  /** Requests that write an object; that read its bytes. */
  readonly write: string;
  readonly read: RegExp;
}

const running: { close(): Promise<void> }[] = [];
afterEach(() => Promise.all(running.splice(0).map((server) => server.close())));

const kinds: readonly Kind[] = [
  {
    scheme: "gs",
    write: "POST",
    read: /alt=media/,
    start: async (fault, options = {}) => {
      const server = await startGcsServer({ buckets: ["bucket"], fault });
      running.push(server);
      return { requests: server.requests, storage: createStorage({ gcs: { endpoint: server.endpoint, ...options } }) };
    },
  },
  {
    scheme: "s3",
    write: "PUT",
    read: /^\/bucket\/./,
    start: async (fault, options = {}) => {
      const server = await startS3Server({ buckets: ["bucket"], fault });
      running.push(server);
      return { requests: server.requests, storage: createStorage({ s3: { endpoint: server.endpoint, credentials: "anonymous", ...options } }) };
    },
  },
];

/** Faults on the first requests that fit, one each. */
function each(method: string, pattern: RegExp, ...faults: (ServerFault | (() => ServerFault | undefined))[]): FaultChooser {
  return (request) => {
    if (request.method !== method || !pattern.test(request.url)) return undefined;
    const next = faults.shift();
    return typeof next === "function" ? next() : next;
  };
}

const content = Buffer.from(Array.from({ length: 50_000 }, (_, index) => (index * 7) % 251));
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

describe.each(kinds)("$scheme://", ({ scheme, start, write, read }) => {
  const path = `${scheme}://bucket/object`;

  test("a read that is cut, that stands still or that trickles gives every byte once, and asks only for what is missing", async () => {
    const { storage, requests } = await start(each("GET", read, { cutAt: 20_000 }, { stallAt: 5000 }, { status: 503 }, { pieceBytes: 9000, delayMs: 1 }), { stallMs: 500 });
    await storage.write(path, content);
    expect(sha256(await storage.read(path))).toBe(sha256(content));
    const asked = requests.filter(({ method, url }) => method === "GET" && read.test(url)).map(({ range }) => range);
    // A busy machine may take an answer for one that stands still, and ask for the same again.
    expect([...new Set(asked)]).toEqual(["", "bytes=20000-", "bytes=25000-"]);
    expect(sha256(await storage.read(path, { start: 10, end: 40_000 }))).toBe(sha256(content.subarray(10, 40_000)));
  });

  test("an object that changes between a cut and the rest is an error, never a mixture", async () => {
    let replace: Promise<void> | undefined;
    const { storage } = await start(each("GET", read, { cutAt: 20_000 }, () => undefined), { stallMs: 500 });
    await storage.write(path, content);
    const seen: Uint8Array[] = [];
    const reading = (async () => {
      for await (const chunk of storage.stream(path)) {
        seen.push(chunk);
        await (replace ??= storage.write(path, Buffer.alloc(50_000, 1)));
      }
    })();
    await expect(reading).rejects.toMatchObject({ code: "RIGGING_CHANGED", data: { path } });
    expect(Buffer.concat(seen).equals(content.subarray(0, 20_000))).toBe(true);
  });

  test("a versioned read begins again when the object changes between a cut and the rest", async () => {
    const newer = Buffer.alloc(50_000, 1);
    let replacing: Promise<void> | undefined;
    const replace = (): ServerFault => {
      replacing = storage.write(path, newer);
      return { cutAt: 20_000 };
    };
    const { storage } = await start(each("GET", read, replace));
    await storage.write(path, content);
    const found = await storage.readVersioned(path);
    await replacing;
    expect(found?.content.length).toBe(50_000);
    expect([sha256(content), sha256(newer)]).toContain(sha256(found?.content ?? new Uint8Array()));
    const now = await storage.readVersioned(path);
    expect(now?.version === found?.version).toBe(sha256(found?.content ?? new Uint8Array()) === sha256(newer));
  });

  test.each([429, 500, 503, "cut-before"] as const)("%s once: every operation is tried again", async (fault) => {
    const wanted: ServerFault = typeof fault === "number" ? { status: fault } : fault;
    const failed = new Set<string>();
    const { storage } = await start(({ method, url }) => {
      const name = `${method} ${url.replace(/\?.*/s, "")}`;
      return failed.has(name) || failed.add(name) === undefined ? undefined : wanted;
    });
    await storage.write(path, "content");
    expect(Buffer.from(await storage.read(path)).toString()).toBe("content");
    expect(await storage.stat(path)).toMatchObject({ bytes: 7 });
    await storage.copy(path, `${path}-2`);
    const paths: string[] = [];
    for await (const entry of storage.list(`${scheme}://bucket/`)) paths.push(entry.path);
    expect(paths).toEqual([path, `${path}-2`]);
    const found = await storage.readVersioned(path);
    await storage.writeIf(path, "more", { version: found?.version });
    expect(await storage.remove(path)).toBe(true);
  });

  test("lost answers: a conditional write finds out that it took place, and that another came after it", async () => {
    const { storage } = await start(each(write, /object/, "cut-after", { status: 503 }, () => undefined, "cut-after"));
    const first = await storage.writeIf(path, "one", { version: undefined });
    expect((await storage.readVersioned(path))?.version).toBe(first);
    const second = await storage.writeIf(path, "two", { version: first });
    expect(second).not.toBe(first);
    const third = await storage.writeIf(path, "three", { version: second });
    expect(Buffer.from((await storage.readVersioned(path))?.content ?? []).toString()).toBe("three");
    await expect(storage.writeIf(path, "four", { version: second })).rejects.toMatchObject({ code: "RIGGING_CHANGED", data: { mayHaveBeenWritten: false } });
    expect((await storage.readVersioned(path))?.version).toBe(third);
    await storage.write(`${path}-once`, "mine", { ifAbsent: true });
    await expect(storage.write(`${path}-once`, "theirs", { ifAbsent: true })).rejects.toMatchObject({ code: "RIGGING_EXISTS" });
  });

  test("a conditional write whose answer is lost for good says that it may have taken place", async () => {
    let isLost = false;
    const { storage } = await start(({ method }) => (isLost ? (method === write ? "cut-after" : { status: 503 }) : undefined), { maxRetries: 1 });
    const version = await storage.writeIf(path, "one", { version: undefined });
    isLost = true;
    await expect(storage.writeIf(path, "two", { version })).rejects.toMatchObject({ data: { mayHaveBeenWritten: true } });
    isLost = false;
    expect(Buffer.from(await storage.read(path)).toString()).toBe("two");
  });

  test.each([
    [401, "RIGGING_NO_CREDENTIALS"],
    [403, "RIGGING_ACCESS_DENIED"],
    [404, "RIGGING_NOT_FOUND"],
    [429, "RIGGING_STORAGE_UNAVAILABLE"],
    [503, "RIGGING_STORAGE_UNAVAILABLE"],
  ])("%d for good is %s", async (status, code) => {
    const { storage } = await start(() => ({ status }), { maxRetries: 0 });
    await expect(storage.read(path)).rejects.toMatchObject({ code, data: { path, status } });
    await expect(storage.write(path, "x")).rejects.toMatchObject({ code, data: { path, status } });
    if (status === 404) expect(await storage.stat(path)).toBeUndefined();
    else await expect(storage.stat(path)).rejects.toMatchObject({ code });
  });

  test("412 without a condition of ours is told as such", async () => {
    const { storage } = await start(each(write, /object/, { status: 412 }), { maxRetries: 0 });
    await expect(storage.write(path, "x")).rejects.toMatchObject({ code: "RIGGING_EXISTS", data: { status: 412 } });
  });

  test("an abort ends a read that stands still", async () => {
    const { storage } = await start(each("GET", read, { stallAt: 10 }));
    await storage.write(path, content);
    const controller = new AbortController();
    const reading = (async () => {
      for await (const _ of storage.stream(path, { signal: controller.signal })) controller.abort(new Error("enough"));
    })();
    await expect(reading).rejects.toThrow("enough");
  });
});
