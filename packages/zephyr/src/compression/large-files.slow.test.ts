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
const all = Buffer.from(text);
const halves = (bytes: number): Buffer[] => [all.subarray(0, Math.floor(bytes * 0.45)), all.subarray(Math.floor(bytes * 0.45), bytes)];

const packers = {
  gz: { megabytes: 40, pack: (half: Buffer) => Promise.resolve(gzipSync(half, { level: 1 })) },
  // Both frames are above what is unpacked at once.
  zst: { megabytes: 40, pack: (half: Buffer) => packZstd(half, 1) },
  xz: {
    megabytes: 8,
    pack: async (half: Buffer) => {
      const { default: lzma } = await import("lzma-native");
      return buffer(lzma.createStream("easyEncoder", { preset: 0 }).end(half));
    },
  },
};

test.each(Object.entries(packers))("Never silently short: a large .%s, cut at 10 random places, and 5 random bits flipped", async (ending, { megabytes, pack }) => {
  const members = await Promise.all(halves(megabytes * 1e6).map(pack));
  const content = all.subarray(0, megabytes * 1e6);
  const packed = Buffer.concat(members);
  const path = `a.${ending}`;
  expect((await unpackAll(unpack, path, packed)).equals(content)).toBe(true);
  const { silent, unnamed } = await damageReport({ path, packed, content, borders: [members[0]?.length ?? 0], cuts: 10, flips: 5 });
  expect({ silent, unnamed }).toEqual({ silent: [], unnamed: [] });
});
