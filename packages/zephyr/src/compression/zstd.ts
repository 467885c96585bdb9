import { formatBytes } from "@marin/iris";
import { ByteReader } from "./byte-reader.js";
import { packedError, unsupportedCompression } from "./packed-error.js";
import { isSkippable, parseZstdHeader, ZSTD_BLOCK_BYTES, ZSTD_MAGIC, type ZstdHeader, zstdHeaderLength } from "./zstd-header.js";
import { decodeFrame, streamFrame } from "./zstd-decode.js";

/** Most memory that a frame may ask for to look back on: what the zstd tool allows unless told otherwise. */
const windowLimit = 2 ** 27;

/** How frames are unpacked. */
interface ZstdOptions {
  /** Frames that can hold no more content than this are unpacked at once, in bytes. Default 16 MiB. */
  readonly wholeBytes?: number;
}

/** A frame on its way. */
interface Frame {
  readonly path: string;
  readonly reader: ByteReader;
  readonly header: ZstdHeader;
  /** Magic and header as they were stored. */
  readonly head: Buffer;
  /** Where it begins in the file. */
  readonly start: number;
}

/**
 * Unpacks a zstd file, its frames one after the other; skippable frames are passed over. The frames' blocks are walked here,
 * so that a file cut anywhere is noticed; what a frame says of its content's size and checksum is checked.
 *
 * @param path - for messages
 * @param packed - the file's bytes; its errors come through unchanged
 * @throws MarinError ZEPHYR_BAD_ZSTD naming the file and where in it (`data.offset`, bytes of the packed file);
 * ZEPHYR_COMPRESSION_UNSUPPORTED for a frame that needs a dictionary, or more than 128 MiB to look back on
 */
export async function* unzstdChunks(path: string, packed: AsyncIterable<Uint8Array>, { wholeBytes = 2 ** 24 }: ZstdOptions = {}): AsyncGenerator<Buffer> {
  const reader = new ByteReader(packed);
  try {
    for (let first = true; ; first = false) {
      const start = reader.offset;
      const magic = await reader.take(4);
      if (magic.length === 0 && !first) return;
      if (magic.length < 4) throw cutShort(path, reader.offset);
      const kind = magic.readUInt32LE();
      if (isSkippable(kind)) await skipFrame(path, reader);
      else if (kind === ZSTD_MAGIC) yield* unpackFrame(await readHeader(path, reader, magic, start), wholeBytes);
      else throw bad(path, start, first ? "it is no zstd file" : "something that is no zstd frame follows the one before");
    }
  } finally {
    await reader.close();
  }
}

async function skipFrame(path: string, reader: ByteReader): Promise<void> {
  const size = await take(path, reader, 4);
  const length = size.readUInt32LE();
  if ((await reader.skip(length)) < length) throw cutShort(path, reader.offset);
}

async function readHeader(path: string, reader: ByteReader, magic: Buffer, start: number): Promise<Frame> {
  const descriptor = await take(path, reader, 1);
  const fields = await take(path, reader, zstdHeaderLength(descriptor[0] ?? 0));
  const header = parseZstdHeader(descriptor[0] ?? 0, fields);
  if (header === undefined) throw bad(path, start, "a frame's header is damaged");
  if (header.dictionary !== 0) throw unsupportedCompression(path, `it was packed with the zstd dictionary ${String(header.dictionary)}; pack it without one`);
  if (header.window > windowLimit) throw unsupportedCompression(path, `it asks for ${formatBytes(header.window)} of memory to look back on, more than ${formatBytes(windowLimit)}; pack it again without --long or --ultra`);
  return { path, reader, header, head: Buffer.concat([magic, descriptor, fields]), start };
}

async function* unpackFrame(frame: Frame, wholeBytes: number): AsyncGenerator<Buffer> {
  const { path, header, start, reader } = frame;
  const source = noting(blocksOf(frame));
  let size = 0;
  try {
    for await (const content of contentsOf(frame, source.items, wholeBytes)) {
      size += content.length;
      if (content.length > 0) yield content;
    }
  } catch (cause) {
    if (source.failed()) throw cause;
    throw bad(path, reader.offset, "a frame is damaged", cause);
  }
  if (header.contentSize !== undefined && header.contentSize !== size) throw bad(path, start, `a frame holds ${String(size)} bytes and says that it holds ${String(header.contentSize)}`);
}

/** At once where the frame is small, else as it comes. */
async function* contentsOf({ head, header }: Frame, blocks: AsyncGenerator<Block>, wholeBytes: number): AsyncGenerator<Buffer> {
  const pieces: Buffer[] = [head];
  let most = 0;
  while (most <= wholeBytes) {
    const next = await blocks.next();
    if (next.done === true) {
      yield await decodeFrame(Buffer.concat(pieces));
      return;
    }
    pieces.push(next.value.bytes);
    most += next.value.most;
  }
  yield* streamFrame(restOf(pieces, blocks), header);
}

/** The same items, and whether the source of them has failed. */
function noting<T>(items: AsyncIterable<T>): { readonly items: AsyncGenerator<T>; readonly failed: () => boolean } {
  let failed = false;
  const noted = async function* (): AsyncGenerator<T> {
    try {
      yield* items;
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  return { items: noted(), failed: () => failed };
}

/** A block as it is stored, its header included, and the most content it can hold. */
interface Block {
  readonly bytes: Buffer;
  readonly most: number;
}

/** What follows a frame's header, to its end. */
async function* blocksOf({ path, reader, header }: Frame): AsyncGenerator<Block> {
  for (let isLast = false; !isLast; ) {
    const at = reader.offset;
    const head = await take(path, reader, 3);
    const word = head.readUIntLE(0, 3);
    const [type, size] = [(word >> 1) & 3, word >> 3];
    isLast = (word & 1) === 1;
    if (type === 3 || size > ZSTD_BLOCK_BYTES) throw bad(path, at, "a block's header is damaged");
    const body = await take(path, reader, type === 1 ? 1 : size);
    yield { bytes: Buffer.concat([head, body]), most: type === 2 ? ZSTD_BLOCK_BYTES : size };
  }
  if (header.hasChecksum) yield { bytes: await take(path, reader, 4), most: 0 };
}

async function* restOf(pieces: readonly Buffer[], blocks: AsyncIterable<Block>): AsyncGenerator<Buffer> {
  yield Buffer.concat(pieces);
  for await (const { bytes } of blocks) yield bytes;
}

async function take(path: string, reader: ByteReader, length: number): Promise<Buffer> {
  const bytes = await reader.take(length);
  if (bytes.length < length) throw cutShort(path, reader.offset);
  return bytes;
}

function cutShort(path: string, offset: number): Error {
  return bad(path, offset, "it ends before its zstd frame does: the file was cut short");
}

function bad(path: string, offset: number, reason: string, cause?: unknown): Error {
  return packedError(reason, { code: "ZEPHYR_BAD_ZSTD", path, offset, cause });
}
