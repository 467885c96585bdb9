import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openStorage } from "../src/storage/create.js";
import { expandGlob } from "../src/storage/glob.js";
import type { Storage } from "../src/storage/storage.js";

/** Where the suite runs. */
export interface SuitePlace {
  /** What the paths belong to. */
  readonly storage: Storage;
  /** A directory that nothing else uses. */
  readonly base: string;
}

/** What a kind of store cannot do. */
export interface SuiteLimits {
  /** Names that it cannot hold. Default none. */
  readonly without?: readonly string[];
  /** Whether it has conditional writes. Default true. */
  readonly conditional?: boolean;
  /** Whether it can rename, has to refuse it, or does not know what that is. Default "yes". */
  readonly renames?: "yes" | "refused" | "unknown";
  /** Whether its copies heed a condition. Default true. */
  readonly conditionalCopies?: boolean;
  /** Contents of random reads and writes. Default 25. */
  readonly runs?: number;
}

/** What every driver has to do: named after the kind of store, run once it is there. */
export function describeStorage(kind: string, place: () => SuitePlace, { without = [], conditional = true, renames = "yes", conditionalCopies = true, runs = 25 }: SuiteLimits = {}): void {
  const storage: Storage = new Proxy({} as Storage, { get: (_, name) => (place().storage[name as keyof Storage] as (...given: unknown[]) => unknown).bind(place().storage) });
  const base = (): string => place().base;
  const text = async (path: string, options?: Parameters<Storage["read"]>[1]): Promise<string> => Buffer.from(await storage.read(path, options)).toString("utf8");
  const listed = async (prefix: string): Promise<string[]> => (await all(storage.list(prefix))).map(({ path }) => path);

  describe(`in ${kind}`, () => {
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
        { numRuns: runs },
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
      const names = ["b", "a/z", "a/b", "a.txt", "a-b", "aa", "é", "😀", "\uFFFD", "z b+c%2B"].filter((name) => !without.includes(name));
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

    test("a version: the object of that moment or an error, never another one", async () => {
      const path = `${base()}/version`;
      await storage.write(path, "first");
      const version = (await storage.stat(path))?.version;
      expect(await text(path, { version })).toBe("first");
      expect(await text(path, { version, start: 1, end: 3 })).toBe("ir");
      await storage.write(path, "second");
      await expect(storage.read(path, { version })).rejects.toMatchObject({ code: "RIGGING_CHANGED", data: { path } });
      await expect(storage.read(path, { version, start: 1 })).rejects.toMatchObject({ code: "RIGGING_CHANGED" });
    });

    test.runIf(conditional)("conditional writes: only over the version that was read", async () => {
      const path = `${base()}/swap`;
      expect(await storage.readVersioned(path)).toBeUndefined();
      await expect(storage.writeIf(path, "x", { version: "12345" })).rejects.toMatchObject({ code: "RIGGING_CHANGED", data: { path } });
      const first = await storage.writeIf(path, "one", { version: undefined });
      await expect(storage.writeIf(path, "x", { version: undefined })).rejects.toMatchObject({ code: "RIGGING_CHANGED" });
      const read = await storage.readVersioned(path);
      expect({ ...read, content: Buffer.from(read?.content ?? []).toString() }).toEqual({ content: "one", version: first });
      const second = await storage.writeIf(path, "two", { version: first });
      await expect(storage.writeIf(path, "three", { version: first })).rejects.toMatchObject({ code: "RIGGING_CHANGED" });
      expect(await text(path)).toBe("two");
      await storage.remove(path);
      await expect(storage.writeIf(path, "three", { version: second })).rejects.toMatchObject({ code: "RIGGING_CHANGED" });
      expect(await storage.stat(path)).toBeUndefined();
    });

    test.runIf(conditional)("conditional writes: of several that add to one list at once none is lost", async () => {
      const path = `${base()}/list-of-all`;
      const add = async (name: string): Promise<void> => {
        for (;;) {
          const found = await storage.readVersioned(path);
          const names = found === undefined ? [] : (JSON.parse(Buffer.from(found.content).toString()) as string[]);
          // An answer that was lost may have been of a write that others built on.
          if (names.includes(name)) return;
          const written = await storage.writeIf(path, JSON.stringify([...names, name]), { version: found?.version }).catch((error: unknown) => {
            if ((error as { code?: unknown }).code !== "RIGGING_CHANGED") throw error;
          });
          if (written !== undefined) return;
        }
      };
      const names = Array.from({ length: 8 }, (_, index) => `n${String(index)}`);
      await Promise.all(names.map(add));
      expect((JSON.parse(await text(path)) as string[]).sort()).toEqual(names);
    });

    test("a copy is whole, and follows the rules of a write", async () => {
      const [from, to] = [`${base()}/copied/from ü+`, `${base()}/copied/to`];
      await storage.write(from, "content");
      await storage.copy(from, to);
      expect([await text(from), await text(to)]).toEqual(["content", "content"]);
      await storage.write(from, "newer");
      if (conditionalCopies) await expect(storage.copy(from, to, { ifAbsent: true })).rejects.toMatchObject({ code: "RIGGING_EXISTS" });
      await storage.copy(from, to);
      expect(await text(to)).toBe("newer");
      await expect(storage.copy(`${base()}/none`, to)).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
    });

    test.runIf(renames !== "unknown")("a rename takes the object along, or is refused where it cannot be one step", async () => {
      const [from, to] = [`${base()}/renamed/from`, `${base()}/renamed/deep/to`];
      await storage.write(from, "content");
      if (renames === "refused") return expect(storage.rename(from, to)).rejects.toMatchObject({ code: "RIGGING_UNSUPPORTED", message: expect.stringContaining("copy it, then remove it") as string });
      await storage.rename(from, to);
      expect([await storage.stat(from), await text(to)]).toEqual([undefined, "content"]);
      await storage.write(from, "other");
      await expect(storage.rename(from, to, { ifAbsent: true })).rejects.toMatchObject({ code: "RIGGING_EXISTS" });
      expect([await text(from), await text(to)]).toEqual(["other", "content"]);
      await storage.rename(from, to);
      expect(await text(to)).toBe("other");
      await expect(storage.rename(from, to)).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
    });

    test("what lies directly in a directory; a walk; globs", async () => {
      const inside = (name: string): string => `${base()}/tree/${name}`;
      const names = ["a.jsonl", "b.jsonl", "b/1.jsonl", "b/2.txt", "b/c/3.jsonl", "d-e", "d/.hidden/4.jsonl", "d/5.jsonl", "shard-00.x", "shard-01.x", "shard-07.x"];
      await Promise.all(names.map((name) => storage.write(inside(name), name)));
      const directly = await all(storage.listDirectory(inside("")));
      expect(directly.map(({ path }) => path)).toEqual(["a.jsonl", "b.jsonl", "b/", "d-e", "d/", "shard-00.x", "shard-01.x", "shard-07.x"].map(inside));
      expect(directly[0]).toEqual({ kind: "file", path: inside("a.jsonl"), bytes: 7 });
      expect(directly[2]).toEqual({ kind: "directory", path: inside("b/") });
      expect(await all(storage.listDirectory(inside("none")))).toEqual([]);
      const walked = await all(storage.walk(inside("").slice(0, -1)));
      expect(walked.map(({ path }) => path)).toEqual(["", "b/", "b/c/", "d/", "d/.hidden/"].map(inside));
      expect(walked.flatMap(({ files }) => files.map(({ path }) => path)).sort()).toEqual(names.map(inside).sort());
      const globbed = async (pattern: string): Promise<string[]> => (await all(storage.glob(inside(pattern)))).map(({ path }) => path.slice(inside("").length));
      expect(await globbed("*.jsonl")).toEqual(["a.jsonl", "b.jsonl"]);
      expect(await globbed("**/*.jsonl")).toEqual(["a.jsonl", "b.jsonl", "b/1.jsonl", "b/c/3.jsonl", "d/5.jsonl"]);
      expect(await globbed("{d,b}/*.{jsonl,txt}")).toEqual(["b/1.jsonl", "b/2.txt", "d/5.jsonl"]);
      expect(await globbed("shard-{00..01}.x")).toEqual(["shard-00.x", "shard-01.x"]);
      expect(await globbed("*/c/?.jsonl")).toEqual(["b/c/3.jsonl"]);
      expect(await globbed("d/.hidden/[0-9].jsonl")).toEqual(["d/.hidden/4.jsonl"]);
      expect(await globbed("none/*")).toEqual([]);
      expect(await expandGlob(inside("{shard-00.x,shard-09.x,b/*.txt}"), storage)).toEqual(["shard-00.x", "shard-09.x", "b/2.txt"].map(inside));
      await expect(expandGlob(inside("{a.jsonl,z*}"), storage)).rejects.toMatchObject({ code: "RIGGING_NO_MATCH" });
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
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function* chunks(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

async function* chunksOf(content: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 7) yield content.subarray(at, at + 7);
}
