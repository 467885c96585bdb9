import fc from "fast-check";
import { expect, test } from "vitest";
import { murmur3, murmur3Words } from "./hash.js";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

// Published vectors of MurmurHash3_x86_32.
test.each([
  ["", 0, 0x00000000],
  ["", 1, 0x514e28b7],
  ["", 0xffffffff, 0x81f16f39],
  ["\0\0\0\0", 0, 0x2362f9de],
  ["a", 0x9747b28c, 0x7fa09ea6],
  ["aa", 0x9747b28c, 0x5d211726],
  ["aaa", 0x9747b28c, 0x283e0130],
  ["aaaa", 0x9747b28c, 0x5a97808a],
  ["abc", 0, 0xb3dd93fa],
  ["Hello, world!", 0x9747b28c, 0x24884cba],
  ["The quick brown fox jumps over the lazy dog", 0x9747b28c, 0x2fa826cd],
])("murmur3 of %j with seed %d", (text, seed, expected) => {
  expect(murmur3(bytes(text), seed)).toBe(expected);
});

test("hashing words is hashing their little-endian bytes", () => {
  fc.assert(
    fc.property(fc.uint32Array({ minLength: 3, maxLength: 9 }), fc.nat(), (words, seed) => {
      const view = new DataView(new ArrayBuffer(words.length * 4));
      words.forEach((word, index) => {
        view.setUint32(index * 4, word, true);
      });
      expect(murmur3Words(words, 1, words.length, seed)).toBe(murmur3(new Uint8Array(view.buffer, 4), seed));
    }),
  );
});
