import { Decoder, Encoder } from "@toondepauw/node-zstd";
import { decompressLz4, decompressLz4Raw } from "hyparquet-compressors";
import { compressSync, uncompressSync } from "snappy";
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from "node:zlib";
import { MarinError } from "@marin/iris";
import { asBuffer } from "../as-buffer.js";
import { type CodecName, codecNames } from "./format.js";
import type { ParquetCompression } from "./types.js";

/** Levels from the fastest to the smallest, and the one without a choice: of zstd and gzip their own, of brotli one for data that is written once. */
export const compressionLevels: Readonly<Partial<Record<ParquetCompression, { readonly least: number; readonly most: number; readonly usual: number }>>> = {
  gzip: { least: 1, most: 9, usual: 6 },
  brotli: { least: 0, most: 11, usual: 5 },
  zstd: { least: 1, most: 22, usual: 3 },
};

/** By level. */
const zstdEncoders = new Map<number, Encoder>();
const zstdDecoder = new Decoder();

type Unpack = (packed: Buffer, length: number) => Uint8Array;

const unpackers: Readonly<Partial<Record<CodecName, Unpack>>> = {
  UNCOMPRESSED: (packed) => packed,
  SNAPPY: (packed, length) => {
    refuseOther(snappyLength(packed), length);
    // A copy of 64 bytes takes three.
    within(length, 64 * packed.length);
    return uncompressSync(packed, { asBuffer: true }) as Buffer;
  },
  GZIP: (packed, length) => gunzipSync(packed, { maxOutputLength: Math.max(1, length) }),
  BROTLI: (packed, length) => brotliDecompressSync(packed, { maxOutputLength: Math.max(1, length) }),
  // What LZ4 makes of a byte is at most 255.
  LZ4: (packed, length) => decompressLz4(packed, within(length, 255 * packed.length)),
  LZ4_RAW: (packed, length) => decompressLz4Raw(packed, within(length, 255 * packed.length)),
  ZSTD: (packed, length) => {
    const told = zstdLength(packed);
    if (told !== undefined) refuseOther(told, length);
    // A block of 128 KiB of one byte takes four.
    within(length, 2 ** 17 * packed.length);
    return zstdDecoder.decodeSync(packed);
  },
};

/** Packs a page. It is a copy always. */
export function compress(bytes: Buffer, compression: ParquetCompression, level = compressionLevels[compression]?.usual ?? 0): Uint8Array {
  switch (compression) {
    case "uncompressed":
      return Uint8Array.from(bytes);
    case "snappy":
      return compressSync(bytes);
    case "gzip":
      return gzipSync(bytes, { level });
    case "brotli":
      return brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: level } });
    case "zstd":
      return zstdEncoder(level).encodeSync(bytes);
  }
}

function zstdEncoder(level: number): Encoder {
  let encoder = zstdEncoders.get(level);
  if (encoder === undefined) {
    encoder = new Encoder(level);
    zstdEncoders.set(level, encoder);
  }
  return encoder;
}

/** The file's names of the codecs. */
export const codecOf: Readonly<Record<ParquetCompression, CodecName>> = { uncompressed: "UNCOMPRESSED", snappy: "SNAPPY", gzip: "GZIP", brotli: "BROTLI", zstd: "ZSTD" };

/**
 * A page, unpacked. Where the packed form tells its length, another one than the page header's is refused before memory is taken.
 *
 * @param codec - its number in the file
 * @param length - what the page header says that it unpacks to
 * @throws Error for damaged pages
 */
export function decompress(codec: number, packed: Uint8Array, length: number): Buffer {
  const unpack = unpackers[codecNames[codec] as CodecName];
  if (unpack === undefined) throw new Error(`the codec ${codecTitle(codec)} is not read`);
  const page = asBuffer(unpack(asBuffer(packed), length));
  refuseOther(page.length, length);
  return page;
}

/** @throws MarinError ZEPHYR_PARQUET_UNSUPPORTED naming column and codec */
export function requireCodec(path: string, column: string, codec: number): void {
  if (unpackers[codecNames[codec] as CodecName] !== undefined) return;
  const title = codecTitle(codec);
  throw new MarinError("ZEPHYR_PARQUET_UNSUPPORTED", `${path}: column ${column} is packed with the codec ${title}, which is not read; read are ${Object.keys(unpackers).join(", ")}.`, {
    data: { path, column, codec: title },
  });
}

function codecTitle(codec: number): string {
  return codecNames[codec] ?? `number ${String(codec)}`;
}

function refuseOther(found: number, length: number): void {
  if (found !== length) throw new Error(`a page unpacks to ${String(found)} bytes, and its header says ${String(length)}`);
}

function within(length: number, most: number): number {
  if (length > most) throw new Error(`a page cannot unpack to the ${String(length)} bytes that its header says`);
  return length;
}

/** The length before snappy's blocks (snappy, format_description.txt). */
function snappyLength(packed: Uint8Array): number {
  let length = 0;
  for (let index = 0; index < 5; index += 1) {
    const byte = packed[index] ?? 0;
    length += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return length;
  }
  throw new Error("a page packed with snappy does not say its length");
}

/** The content size in the header of a zstd frame (RFC 8878, section 3.1.1.1), where it is the only frame and has one. */
function zstdLength(packed: Buffer): number | undefined {
  if (packed.length < 6 || packed.readUInt32LE(0) !== 0xfd2fb528) throw new Error("a page packed with zstd does not begin like it");
  const descriptor = packed[4] ?? 0;
  const [flag, single] = [descriptor >> 6, (descriptor & 0x20) !== 0];
  const at = 5 + (single ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] ?? 0);
  if (flag === 0 && !single) return undefined;
  const size = 1 << flag;
  if (at + size > packed.length) throw new Error("a page packed with zstd ends in its header");
  if (size === 8) return Number(packed.readBigUInt64LE(at));
  return packed.readUIntLE(at, size) + (size === 2 ? 256 : 0);
}
