import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { damageReport, unpackAll } from "../../test/packed.js";
import { randomNumbers } from "../../test/random.js";
import { packZstd } from "./zstd-frame.js";
import { unpack } from "./unpack.js";

const random = randomNumbers(1);
const words = Array.from({ length: 5000 }, () => Math.floor(random() * 2 ** 40).toString(36));
let text = "";
while (text.length < 40e6) text += `{"text":"${Array.from({ length: 300 }, () => words[Math.floor(random() ** 2 * words.length)] ?? "").join(" ")}"}\n`;
const content = Buffer.from(text);
const halves = [content.subarray(0, 17e6), content.subarray(17e6)];

const packers: Readonly<Record<string, () => Promise<Buffer[]>>> = {
  gz: async () => halves.map((half) => gzipSync(half, { level: 1 })),
  // Above what is unpacked at once.
  zst: () => Promise.all(halves.map((half) => packZstd(half, 1))),
  xz: async () => {
    const { default: lzma } = await import("lzma-native");
    return Promise.all(halves.map((half) => buffer(lzma.createStream("easyEncoder", { preset: 0 }).end(half))));
  },
};

test.each(Object.entries(packers))("Never silently short: 40 MB as %s, cut at 12 random places, and 12 random bits flipped", async (ending, pack) => {
  const members = await pack();
  const packed = Buffer.concat(members);
  const path = `a.${ending}`;
  expect((await unpackAll(unpack, path, packed)).equals(content)).toBe(true);
  const { silent, unnamed } = await damageReport({ path, packed, content, borders: [members[0]?.length ?? 0], cuts: 12, flips: 12 });
  expect({ silent, unnamed }).toEqual({ silent: [], unnamed: [] });
});
