import { asBuffer } from "../as-buffer.js";
import type { ArrowLibrary } from "./build.js";
import { unpackLz4Frame } from "./lz4-frame.js";

/** The library, able to read files whose buffers are packed. It is loaded on first use. */
export async function loadArrow(): Promise<ArrowLibrary> {
  const [library, { Decoder }, { default: xxhash }] = await Promise.all([import("apache-arrow"), import("@toondepauw/node-zstd"), import("xxhash-wasm")]);
  const { compressionRegistry, CompressionType } = library;
  // Who has registered codecs before keeps them.
  const isMissing = (type: number): boolean => typeof compressionRegistry.get(type)?.decode !== "function";
  if (isMissing(CompressionType.ZSTD)) {
    const zstd = new Decoder();
    compressionRegistry.set(CompressionType.ZSTD, { decode: (bytes) => zstd.decodeSync(asBuffer(bytes)) });
  }
  if (isMissing(CompressionType.LZ4_FRAME)) {
    const hashes = await xxhash();
    compressionRegistry.set(CompressionType.LZ4_FRAME, { decode: (bytes) => unpackLz4Frame(bytes, (data, seed) => hashes.h32Raw(data, seed)) });
  }
  return library;
}
