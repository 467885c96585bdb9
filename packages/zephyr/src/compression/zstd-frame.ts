import { asBuffer } from "../as-buffer.js";
import { ZSTD_MAGIC } from "./zstd-header.js";

/**
 * Packs bytes as one zstd frame that says its content's size and checksum, so that whoever unpacks it notices a damaged bit.
 * Frames may stand one after the other in a file.
 *
 * @param content - some MiB at most: it is packed at once
 * @param level - from 1, fast, to 19, small. Default 3
 */
export async function packZstd(content: Uint8Array, level = 3): Promise<Buffer> {
  const [{ Encoder }, { default: xxhash }] = await Promise.all([import("@toondepauw/node-zstd"), import("xxhash-wasm")]);
  const frame = await new Encoder(level).encode(asBuffer(content));
  const descriptor = frame[4] ?? 0;
  if (frame.readUInt32LE() !== ZSTD_MAGIC || (descriptor & 4) !== 0) return frame;
  // The library has no switch for the checksum: the header's bit, and the low half of the content's XXH64 behind the blocks (RFC 8878, 3.1.1).
  frame[4] = descriptor | 4;
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(Number((await xxhash()).create64().update(content).digest() & 0xffffffffn));
  return Buffer.concat([frame, checksum]);
}
