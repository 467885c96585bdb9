import { lstat, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { type Header, pack } from "tar-stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { collect } from "../../test/collect.js";
import { isMarinError } from "../platform.js";
import { decompressed, packArchive, unpackArchive } from "./archive.js";
import { readTree } from "./tree.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-archive-"));
  await mkdir(join(directory, "inside"));
  await writeFile(join(directory, "outside"), "untouched");
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

const limits = { maxBytes: 1_000_000, maxEntries: 100 };
type Entry = Partial<Header> & { readonly name: string; readonly text?: string };

async function archiveOf(entries: readonly Entry[]): Promise<Buffer> {
  const archive = pack();
  for (const { text = "", ...header } of entries) archive.entry(header as Header, header.type === undefined || header.type === "file" ? text : "");
  archive.finalize();
  return Buffer.concat(await collect(archive as unknown as AsyncIterable<Buffer>));
}

async function* inPieces(bytes: Uint8Array, size = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Everything there is, so that nothing can appear beside the directory unseen. */
async function everything(): Promise<string[]> {
  return (await readdir(directory, { recursive: true })).map(String).sort();
}

const link = (name: string, linkname: string): Entry => ({ name, type: "symlink", linkname });

describe("a hostile archive", () => {
  it.each<[string, readonly Entry[]]>([
    ["climbs", [{ name: "../outside", text: "x" }]],
    ["climbs from below", [{ name: "a/../../outside", text: "x" }]],
    ["is absolute", [{ name: "/tmp/iris-archive-absolute", text: "x" }]],
    ["names a drive", [{ name: "C:/x", text: "x" }]],
    ["has backslashes", [{ name: "..\\outside", text: "x" }]],
    ["has an empty part", [{ name: "a//b", text: "x" }]],
    ["links out", [link("a", "../outside")]],
    ["links to an absolute path", [link("a", "/etc/passwd")]],
    ["writes through a link", [link("a", "b"), { name: "b/x", text: "x" }, { name: "a/x", text: "x" }]],
    ["writes over a link", [link("a", "b"), { name: "a", text: "x" }, { name: "b", text: "x" }]],
    ["links over a file", [{ name: "a", text: "x" }, link("a", "b"), { name: "b", text: "x" }]],
    ["links over a directory", [{ name: "a/x", text: "x" }, link("a", "a/x")]],
    ["climbs through a link", [{ name: "x/y/z", text: "x" }, link("x/y/root", "../.."), link("trick", "x/y/root/../outside")]],
    ["links to nothing", [link("a", "b")]],
    ["has a file below a file", [{ name: "a", text: "x" }, { name: "a/b", text: "x" }]],
    ["has a name twice", [{ name: "a", text: "x" }, { name: "a", text: "y" }]],
    ["has a hard link", [{ name: "a", text: "x" }, { name: "b", type: "link", linkname: "a" }]],
    ["has a device", [{ name: "a", type: "character-device" }]],
    ["has a pipe", [{ name: "a", type: "fifo" }]],
    ["has too many entries", Array.from({ length: 101 }, (_, index) => ({ name: `a${String(index)}`, text: "" }))],
    ["has too many bytes", [{ name: "a", text: "x".repeat(1_000_001) }]],
    ["has a long name", [{ name: "x".repeat(256), text: "" }]],
  ])("that %s is refused", async (_what, entries) => {
    const before = (await everything()).filter((path) => !path.startsWith("inside"));
    await expect(unpackArchive(inPieces(await archiveOf(entries)), join(directory, "inside"), limits)).rejects.toMatchObject({ code: "IRIS_BAD_ARCHIVE" });
    expect((await everything()).filter((path) => !path.startsWith("inside"))).toEqual(before);
    await expect(lstat("/tmp/iris-archive-absolute")).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("of a few packed bytes that stand for gigabytes ends at its limit", async () => {
    const zeros = gzipSync(Buffer.alloc(64 << 20));
    const bomb = Buffer.concat(Array.from({ length: 64 }, () => zeros));
    const small = { maxBytes: 1_000, maxEntries: 1 };
    let taken = 0;
    const counted = async function* (): AsyncGenerator<Uint8Array> {
      for await (const chunk of inPieces(bomb, 1 << 14)) {
        taken += chunk.length;
        yield chunk;
      }
    };
    await expect(unpackArchive(decompressed(counted()), join(directory, "inside"), small)).rejects.toMatchObject({ code: "IRIS_BAD_ARCHIVE", message: expect.stringContaining("padding") as string });
    expect(taken).toBeLessThan(bomb.length / 10);
  });

  it("is refused or unpacked inside, whatever bytes of it are changed or missing, and nothing appears beside it", { timeout: 60_000 }, async () => {
    const original = await archiveOf([{ name: "a", text: "x".repeat(700) }, { name: "b/c", text: "y" }, link("l", "b/c"), { name: "d", type: "directory" }, { name: "ü".repeat(60), text: "long" }]);
    const before = (await everything()).filter((path) => !path.startsWith("inside"));
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(original.length - 1), fc.nat(255)), { maxLength: 20 }), fc.nat(original.length), fc.integer({ min: 1, max: 2000 }), async (changes, length, size) => {
        const bytes = Buffer.from(original.subarray(0, length));
        for (const [at, value] of changes) if (at < length) bytes[at] = value;
        const inside = join(directory, "inside", String((count += 1)));
        await mkdir(inside);
        await unpackArchive(inPieces(bytes, size), inside, limits).catch((error: unknown) => {
          if (!isMarinError(error)) throw error;
        });
        await rm(inside, { recursive: true });
      }),
      { numRuns: 300 },
    );
    expect((await everything()).filter((path) => !path.startsWith("inside"))).toEqual(before);
  });
});

it("what is packed is unpacked as it was, whatever sizes the pieces have", { timeout: 60_000 }, async () => {
  const name = fc.string({ unit: fc.constantFrom("a", "b", ".", "-", " ", "é", "日"), minLength: 1, maxLength: 8 }).filter((text) => !/^\.+$/.test(text));
  const files = fc.dictionary(fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/")), fc.uint8Array({ maxLength: 2_000 }), { maxKeys: 6 });
  let count = 0;
  await fc.assert(
    fc.asyncProperty(files, fc.integer({ min: 1, max: 3000 }), async (contents, size) => {
      const [from, to] = [join(directory, `from-${String((count += 1))}`), join(directory, `to-${String(count)}`)];
      await mkdir(to);
      await mkdir(from);
      for (const [path, bytes] of Object.entries(contents)) {
        await mkdir(join(from, path, ".."), { recursive: true }).catch(() => undefined);
        await writeFile(join(from, path), bytes).catch(() => undefined);
      }
      const { entries } = await readTree(from);
      const packed = Buffer.concat(await collect(packArchive(from, entries)));
      await unpackArchive(inPieces(packed, size), to, limits);
      expect((await readTree(to)).entries).toEqual(entries);
      expect(Buffer.concat(await collect(packArchive(to, entries))).equals(packed)).toBe(true);
    }),
    { numRuns: 100 },
  );
});

it("reading an archive half way leaves no file open and no error behind", async () => {
  await writeFile(join(directory, "inside", "big"), Buffer.alloc(10 << 20));
  const { entries } = await readTree(join(directory, "inside"));
  const open = async (): Promise<number> => (await readdir("/proc/self/fd")).length;
  const before = await open();
  for (let round = 0; round < 5; round += 1) for await (const chunk of packArchive(join(directory, "inside"), entries)) if (chunk.length > 0) break;
  expect(await open()).toBe(before);
  const reason = new Error("enough");
  await expect(collect(packArchive(join(directory, "inside"), entries, AbortSignal.abort(reason)))).rejects.toBe(reason);
});
