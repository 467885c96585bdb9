import { expect, test } from "vitest";
import xxhash from "xxhash-wasm";
import { randomNumbers } from "../../test/random.js";
import { unpackLz4Frame } from "./lz4-frame.js";

const { h32Raw } = await xxhash();
const unpack = (packed: Uint8Array): Buffer => Buffer.from(unpackLz4Frame(packed, h32Raw));

const text = Buffer.from(Array.from({ length: 30 }, (_, index) => `${String(index)} grün ${String(index % 5)} `).join("") + "a".repeat(300));
const big = Buffer.from(Array.from({ length: 256 * 300 }, (_, index) => index % 256));
const raw = Buffer.from(Array.from({ length: 40 }, (_, i) => ((i * i * 7919 + i * 31) % 256) ^ ((i * i) >> 7) % 256));

/** Written by the library lz4 4.4 of Python. */
const frames: readonly (readonly [what: string, content: Buffer, base64: string])[] = [
  ["as Arrow packs: its size is told", text, "BCJNGGhAbAIAAAAAAABPmwAAALMwIGdyw7xuIDAgMQoAMzEgMgoAMzIgMwoAMzMgNAoAMzQgNQoAMzAgNgoAMzEgNwoAMzIgOAoAMzMgOQoANzQgMWUABmYAFjFnABYxaAAWMWkAFjFqABYxawAWMWwAFjFtABYxbgAWMm4AFjJuABYybgAWMm4AFjJuABYybgAWMm4AFjJuABYybgAWMm4AH2EBAP8UUGFhYWFhAAAAAA=="],
  ["checksums of blocks and content, no size", text, "BCJNGHRAvZsAAACzMCBncsO8biAwIDEKADMxIDIKADMyIDMKADMzIDQKADM0IDUKADMwIDYKADMxIDcKADMyIDgKADMzIDkKADc0IDFlAAZmABYxZwAWMWgAFjFpABYxagAWMWsAFjFsABYxbQAWMW4AFjJuABYybgAWMm4AFjJuABYybgAWMm4AFjJuABYybgAWMm4AFjJuAB9hAQD/FFBhYWFhYd4wgGEAAAAAo3SJ2Q=="],
  ["blocks that stand alone, a checksum", text, "BCJNGGxAbAIAAAAAAAD8mwAAALMwIGdyw7xuIDAgMQoAMzEgMgoAMzIgMwoAMzMgNAoAMzQgNQoAMzAgNgoAMzEgNwoAMzIgOAoAMzMgOQoANzQgMWUABmYAFjFnABYxaAAWMWkAFjFqABYxawAWMWwAFjFtABYxbgAWMm4AFjJuABYybgAWMm4AFjJuABYybgAWMm4AFjJuABYybgAWMm4AH2EBAP8UUGFhYWFhAAAAAKN0idk="],
  ["no size", text, "BCJNGGBAgpsAAACzMCBncsO8biAwIDEKADMxIDIKADMyIDMKADMzIDQKADM0IDUKADMwIDYKADMxIDcKADMyIDgKADMzIDkKADc0IDFlAAZmABYxZwAWMWgAFjFpABYxagAWMWsAFjFsABYxbQAWMW4AFjJuABYybgAWMm4AFjJuABYybgAWMm4AFjJuABYybgAWMm4AFjJuAB9hAQD/FFBhYWFhYQAAAAA="],
  ["several blocks that repeat of those before, a checksum", big, "BCJNGExAACwBAAAAAAAECgIAAP/xAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/wAB////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////51D7/P3+/zYAAAAPAP///////////////////////////////////////////////////////////xRQ+/z9/v8AAAAAImJFmA=="],
  ["what cannot be packed", raw, "BCJNGGhAKAAAAAAAAAB1KAAAgAAO+sRs8laYuLaSTOVbr+Hy3KhW30GFrKyCR9lSrNn36KZT7UaYvbMAAAAA"],
];

test.each(frames)("%s", (_what, content, base64) => {
  expect(unpack(Buffer.from(base64, "base64")).equals(content)).toBe(true);
});

test("a frame cut anywhere, or with a bit of it flipped, is an error: never another content", () => {
  const random = randomNumbers(5);
  for (const [what, content, base64] of frames) {
    const packed = Buffer.from(base64, "base64");
    // The end mark is the last thing of a frame without a checksum.
    for (let length = 0; length < packed.length; length += 1 + Math.floor(packed.length / 60)) expect(() => unpack(packed.subarray(0, length)), `${what}, ${String(length)} bytes`).toThrow();
    if (!what.includes("checksum")) continue;
    for (let round = 0; round < 60; round += 1) {
      const damaged = Buffer.from(packed);
      const at = Math.floor(random() * packed.length);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      let found: Buffer | undefined;
      try {
        found = unpack(damaged);
      } catch {
        continue;
      }
      // A bit of a head that says nothing of the content.
      expect(found.equals(content), `${what}, byte ${String(at)}`).toBe(true);
    }
  }
});
