import { Decoder, Encoder } from "@toondepauw/node-zstd";
import type { CompressionCodec, Compressors as Decompressors } from "hyparquet";
import { decompressLz4, decompressLz4Raw } from "hyparquet-compressors";
import type { Compressors } from "hyparquet-writer/src/types.js";
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from "node:zlib";
import type { ParquetCompression } from "./types.js";

/** Level 3 is zstd's own default. */
const zstdEncoder = new Encoder(3);
const zstdDecoder = new Decoder();

/** A view, not a copy. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** What unpacks pages; snappy is the reader's own. */
export const decompressors: Decompressors = {
  LZ4: decompressLz4,
  LZ4_RAW: decompressLz4Raw,
  ZSTD: (input) => zstdDecoder.decodeSync(asBuffer(input)),
  GZIP: (input) => gunzipSync(input),
  BROTLI: (input) => brotliDecompressSync(input),
};

/** What packs pages; snappy is the writer's own. */
export const compressors: Compressors = {
  ZSTD: (input) => zstdEncoder.encodeSync(asBuffer(input)),
  GZIP: (input) => gzipSync(input),
  BROTLI: (input) => brotliCompressSync(input, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
};

/** The file's names of the codecs. */
export const codecNames: Readonly<Record<ParquetCompression, CompressionCodec>> = {
  uncompressed: "UNCOMPRESSED",
  snappy: "SNAPPY",
  gzip: "GZIP",
  brotli: "BROTLI",
  zstd: "ZSTD",
};
