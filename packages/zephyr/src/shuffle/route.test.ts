import { expect, test } from "vitest";
import { ByteWriter } from "./byte-writer.js";
import { writeKey } from "./canonical-key.js";
import { shardOfKey } from "./route.js";
import type { ShuffleKey } from "./types.js";

/**
 * Keys, their canonical bytes, and their shards of 7, from another implementation of both (Python: test/golden-keys.py with xxhash 4.1.0). They must never change:
 * what was scattered before is taken up by them.
 */
const golden: readonly (readonly [ShuffleKey, string, number])[] = [
  [null, "01", 1],
  [true, "03", 4],
  [0, "10800000000000000000", 5],
  [-1.5, "104007ffffffffffff00", 5],
  [42, "10c04500000000000000", 2],
  [2n ** 53n + 1n, "10c3400000000000000101", 3],
  [-(2n ** 64n) - 3n, "103c0ffffffffffffe020ffd", 3],
  ["", "2000", 6],
  ["hot", "20686f7400", 0],
  ["日本語 😀", "20e697a5e69cace8aa9e20f09f988000", 1],
  ["\ud83d", "20eda0bd00", 0],
  ["a\0b", "206100ff6200", 4],
  [new Date("2026-11-30T00:00:00Z"), "18c27a229c05400000", 3],
  [Uint8Array.from([1, 0, 255]), "280100ffff00", 6],
  [["user", 7], "3020757365720010c01c0000000000000000", 6],
  [{ b: null, a: [false] }, "382061003002002062000100", 3],
];

test("Routing determinism: golden vectors", async () => {
  for (const [key, bytes, shard] of golden) {
    const writer = new ByteWriter();
    writeKey(writer, key);
    expect(writer.bytes.toString("hex", 0, writer.length)).toBe(bytes);
    expect(await shardOfKey(key, 7), bytes).toBe(shard);
  }
});

test("an impossible number of shards is refused", async () => {
  await expect(shardOfKey(1, 0)).rejects.toMatchObject({ code: "ZEPHYR_BAD_COUNT", data: { shards: 0 } });
  await expect(shardOfKey(1, 1.5)).rejects.toMatchObject({ code: "ZEPHYR_BAD_COUNT" });
});
