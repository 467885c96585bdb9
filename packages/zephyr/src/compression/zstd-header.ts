/** What a zstd frame's header says (RFC 8878, section 3.1.1.1). */
export interface ZstdHeader {
  /** Bytes of memory the decoder looks back on. */
  readonly window: number;
  /** Size of the content in bytes; undefined where the header does not say. */
  readonly contentSize: number | undefined;
  /** Whether a checksum of the content follows the blocks. */
  readonly hasChecksum: boolean;
  /** Which dictionary is needed, 0 for none. */
  readonly dictionary: number;
}

/** First bytes of a frame, as a little-endian number. */
export const ZSTD_MAGIC = 0xfd2fb528;

/** Most content of a block, in bytes. */
export const ZSTD_BLOCK_BYTES = 1 << 17;

/** Whether a frame that begins so holds no content and is passed over. */
export function isSkippable(magic: number): boolean {
  return magic >>> 4 === 0x184d2a5;
}

/** Size of what follows a frame header's first byte. */
export function zstdHeaderLength(descriptor: number): number {
  const isSingle = (descriptor >> 5) & 1;
  return (isSingle === 1 ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] ?? 0) + sizeFieldLength(descriptor);
}

/**
 * Reads a frame header.
 *
 * @param descriptor - its first byte
 * @param fields - what follows, as many bytes as {@link zstdHeaderLength} says
 * @returns undefined when a bit is set that must not be
 */
export function parseZstdHeader(descriptor: number, fields: Buffer): ZstdHeader | undefined {
  if ((descriptor & 8) !== 0) return undefined;
  const isSingle = ((descriptor >> 5) & 1) === 1;
  const dictionaryLength = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const dictionaryAt = isSingle ? 0 : 1;
  const dictionary = dictionaryLength === 0 ? 0 : fields.readUIntLE(dictionaryAt, dictionaryLength);
  const contentSize = readContentSize(fields, dictionaryAt + dictionaryLength, sizeFieldLength(descriptor));
  const window = isSingle ? (contentSize ?? 0) : windowOf(fields[0] ?? 0);
  return { window, contentSize, hasChecksum: (descriptor & 4) !== 0, dictionary };
}

function sizeFieldLength(descriptor: number): number {
  const flag = descriptor >> 6;
  if (flag === 0) return (descriptor >> 5) & 1;
  return 1 << flag;
}

function readContentSize(fields: Buffer, at: number, length: number): number | undefined {
  if (length === 0) return undefined;
  if (length === 8) return Number(fields.readBigUInt64LE(at));
  return fields.readUIntLE(at, length) + (length === 2 ? 256 : 0);
}

function windowOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}
