import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { isMarinError } from "@marin/iris";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { damageReport, packedFixtures, unpackAll } from "../../test/packed.js";
import { unpack } from "./unpack.js";
import { unzstdChunks } from "./zstd.js";
import { packZstd } from "./zstd-frame.js";

const content = readFileSync(new URL("../../test/fixtures/packed/a.jsonl", import.meta.url));

describe.each(packedFixtures)("Never silently short: $path", ({ path, packed, borders }) => {
  test("members, frames or streams one after the other are one text, wherever the chunks are cut", () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 700 }), async (chunkBytes) => {
        expect((await unpackAll(unpack, path, packed, chunkBytes)).equals(content)).toBe(true);
      }),
      { numRuns: 8 },
    ));

  test("cut at 100 random places it is an error that names file and place; where a member ends, the members before it are all there is", async () => {
    const { silent, unnamed, cuts } = await damageReport({ path, packed, content, borders, cuts: 100, flips: 0 });
    expect({ silent, unnamed }).toEqual({ silent: [], unnamed: [] });
    expect(cuts).toBe(100);
  });

  test("100 random bits flipped, one at a time: an error that names file and place, or the same text (a bit that means nothing)", async () => {
    const { silent, unnamed, flips, detected } = await damageReport({ path, packed, content, borders, cuts: 0, flips: 100 });
    expect({ silent, unnamed }).toEqual({ silent: [], unnamed: [] });
    expect(flips).toBe(100);
    expect(detected).toBeGreaterThan(85);
  });

  test("something behind the end, and an empty file, are errors", async () => {
    await expect(unpackAll(unpack, path, Buffer.concat([packed, Buffer.from("behind the end")]))).rejects.toMatchObject({ data: { path } });
    await expect(unpackAll(unpack, path, Buffer.alloc(0))).rejects.toMatchObject({ data: { path } });
    await expect(unpackAll(unpack, path, Buffer.from('{"text":"plain"}\n'))).rejects.toMatchObject({ data: { path } });
  });

  test("an error of the file's source comes through unchanged, and the source is closed when nobody reads on", async () => {
    const lost = new Error("lost");
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield packed.subarray(0, 50);
      throw lost;
    };
    await expect((async () => { for await (const chunk of unpack(path, failing())) expect(chunk).toBeDefined(); })()).rejects.toBe(lost);
    let closed = false;
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield packed;
      } finally {
        closed = true;
      }
    };
    for await (const chunk of unpack(path, endless())) if (chunk.length > 0) break;
    expect(closed).toBe(true);
  });
});

test("a large zstd frame is unpacked as it comes, its checksum and size checked", async () => {
  const frame = await packZstd(content);
  const streamed = (packed: Uint8Array, chunkBytes?: number): Promise<Buffer> => unpackAll((path, stored) => unzstdChunks(path, stored, { wholeBytes: 100 }), "a.zst", packed, chunkBytes);
  expect((await streamed(Buffer.concat([frame, frame]), 7)).equals(Buffer.concat([content, content]))).toBe(true);
  const { silent, unnamed } = await damageReport({ path: "a.zst", packed: frame, content, borders: [frame.length], cuts: 40, flips: 40, unpacker: (path, stored) => unzstdChunks(path, stored, { wholeBytes: 100 }) });
  expect({ silent, unnamed }).toEqual({ silent: [], unnamed: [] });
});

test("what a zstd frame needs that is not there is told: a dictionary, a window that is too large", async () => {
  const header = (descriptor: number, ...fields: number[]): Buffer => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, descriptor, ...fields, 1, 0, 0]);
  await expect(unpackAll(unpack, "d.zst", header(1, 0, 7))).rejects.toMatchObject({ code: "ZEPHYR_COMPRESSION_UNSUPPORTED", message: expect.stringContaining("dictionary 7") as string });
  await expect(unpackAll(unpack, "w.zst", header(0, 21 << 3))).rejects.toMatchObject({ code: "ZEPHYR_COMPRESSION_UNSUPPORTED", message: expect.stringContaining("memory to look back on") as string });
});

test("zeros behind a gzip member are padding", async () => {
  expect(String(await unpackAll(unpack, "m.gz", Buffer.concat([gzipSync("eins "), gzipSync(""), gzipSync("zwei"), Buffer.alloc(512)])))).toBe("eins zwei");
});

test("Never silently short: what follows zeros behind a gzip member is an error, wherever the chunks are cut", async () => {
  const [member, zeros] = [gzipSync("eins "), Buffer.alloc(8)];
  for (const behind of [gzipSync("zwei"), Buffer.from("behind the end")]) {
    for (const chunkBytes of [1, 7, member.length, member.length + 3, 1 << 16]) {
      const unpacking = unpackAll(unpack, "m.gz", Buffer.concat([member, zeros, behind]), chunkBytes);
      await expect(unpacking, String(chunkBytes)).rejects.toMatchObject({ code: "ZEPHYR_BAD_GZIP", data: { path: "m.gz", offset: member.length + zeros.length } });
    }
  }
});

test("a file without such an ending is given as it is; a frame made here unpacks to what went in", async () => {
  expect(String(await unpackAll(unpack, "a.txt", Buffer.from("plain"), 2))).toBe("plain");
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 5000 }), async (bytes) => {
      expect(new Uint8Array(await unpackAll(unpack, "a.ZST", await packZstd(bytes)))).toEqual(bytes);
    }),
    { numRuns: 20 },
  );
  await expect(unpackAll(unpack, "a.zst", (await packZstd(content)).fill(0, 40, 41))).rejects.toSatisfy((error) => isMarinError(error, "ZEPHYR_BAD_ZSTD"));
});
