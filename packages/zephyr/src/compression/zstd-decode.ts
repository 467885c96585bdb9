import zlib from "node:zlib";
import type { Transform } from "node:stream";
import { asBuffer } from "../as-buffer.js";
import { through } from "./through.js";
import type { ZstdHeader } from "./zstd-header.js";

/** zlib of Node 22.15 and later. */
const { createZstdDecompress } = zlib as { readonly createZstdDecompress?: (options: { readonly chunkSize: number }) => Transform };

/** The content of one whole frame, from its magic number to its end. */
export async function decodeFrame(frame: Buffer): Promise<Buffer> {
  const { Decoder } = await import("@toondepauw/node-zstd");
  return new Decoder().decode(frame);
}

/** The content of one frame that is given in pieces, as it comes: by Node where it can, else in JavaScript. */
export function streamFrame(pieces: AsyncIterable<Buffer>, header: ZstdHeader): AsyncIterable<Buffer> {
  return createZstdDecompress === undefined ? streamInJavaScript(pieces, header) : through(pieces, createZstdDecompress({ chunkSize: 1 << 18 }));
}

/** By a decoder that takes no notice of checksums; they are checked here. */
export async function* streamInJavaScript(pieces: AsyncIterable<Buffer>, { hasChecksum }: ZstdHeader): AsyncGenerator<Buffer> {
  const [{ Decompress }, { default: xxhash }] = await Promise.all([import("fzstd"), import("xxhash-wasm")]);
  const hash = (await xxhash()).create64();
  let made: Uint8Array[] = [];
  const decoder = new Decompress((content) => void made.push(content));
  let tail = Buffer.alloc(0);
  for await (const piece of pieces) {
    decoder.push(piece);
    // Its last four bytes may be the checksum.
    tail = Buffer.concat([tail, piece.subarray(-4)]).subarray(-4);
    const contents = made;
    made = [];
    for (const content of contents) {
      if (hasChecksum) hash.update(content);
      yield asBuffer(content);
    }
  }
  if (hasChecksum && tail.readUInt32LE() !== Number(hash.digest() & 0xffffffffn)) throw new Error("The checksum of the content differs.");
}
