import { MarinError } from "@marin/iris";
import xxhash from "xxhash-wasm";
import { ByteWriter } from "./byte-writer.js";
import { writeKey } from "./canonical-key.js";
import type { ShuffleKey } from "./types.js";

/** Chooses the output shard of a key, whose canonical bytes begin a buffer. */
export type Router = (bytes: Buffer, keyEnd: number) => number;

/**
 * The rule by which keys are dealt to shards: XXH64 with seed 0 of the canonical bytes, modulo the number of shards. It is the same in
 * every process, on every machine, and in every version of this package.
 */
export async function createRouter(shards: number): Promise<Router> {
  if (!Number.isSafeInteger(shards) || shards < 1) {
    throw new MarinError("ZEPHYR_BAD_COUNT", `The number of output shards must be a whole number of at least 1, found ${String(shards)}.`, { data: { shards } });
  }
  if (shards === 1) return () => 0;
  const hash = await xxhash();
  const divisor = BigInt(shards);
  return (bytes, keyEnd) => Number(hash.h64Raw(new Uint8Array(bytes.buffer, bytes.byteOffset, keyEnd)) % divisor);
}

/**
 * The shard to which a shuffle of so many output shards sends the items of a key.
 *
 * @param key - the key
 * @param shards - number of output shards, at least 1
 * @returns from 0 to `shards` - 1
 * @throws MarinError ZEPHYR_BAD_KEY, ZEPHYR_BAD_COUNT
 */
export async function shardOfKey(key: ShuffleKey, shards: number): Promise<number> {
  const route = await createRouter(shards);
  const writer = new ByteWriter();
  writeKey(writer, key);
  return route(writer.bytes, writer.length);
}
