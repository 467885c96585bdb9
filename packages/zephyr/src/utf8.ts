import { MarinError } from "@marin/iris";
import { isUtf8 } from "node:buffer";

/** Where some bytes come from, for messages. */
export interface ByteOrigin {
  /** The file. */
  readonly path: string;
  /** Offset of the bytes in the file. */
  readonly offset: number;
  /** Line of the bytes, from 1 up, where lines are counted. */
  readonly line?: number;
}

/**
 * Decodes UTF-8, strictly.
 *
 * @throws MarinError ZEPHYR_NOT_UTF8 naming file, offset of the first bad byte in the file, and the byte
 */
export function decodeUtf8(bytes: Buffer, origin: ByteOrigin): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const bad = firstInvalidUtf8(bytes);
  const offset = origin.offset + bad;
  const byte = `0x${(bytes[bad] ?? 0).toString(16).padStart(2, "0")}`;
  const line = origin.line === undefined ? "" : `line ${String(origin.line)}, `;
  const utf16 = offset === 0 && bytes.length > 1 && ["fffe", "feff"].includes(bytes.toString("hex", 0, 2));
  throw new MarinError(
    "ZEPHYR_NOT_UTF8",
    `${origin.path} is not UTF-8 text: ${line}byte ${String(offset)} is ${byte}${utf16 ? ", which begins a UTF-16 file" : ""}. Convert the file to UTF-8 (iconv -f <its encoding> -t utf-8) or leave it out.`,
    { data: { path: origin.path, offset, byte, ...(origin.line === undefined ? {} : { line: origin.line }) } },
  );
}

/** Bytes of the mark that some programs write at the start of UTF-8 files, 0 or 3. It is no part of the text. */
export function byteOrderMarkLength(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

/** The same bytes, the first chunk long enough to hold a whole mark where there are so many. */
export async function* withWholeMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (head !== undefined) {
      head = Buffer.concat([head, chunk]);
      if (head.length < 3) continue;
      yield head;
      head = undefined;
    } else yield chunk;
  }
  if (head !== undefined && head.length > 0) yield head;
}

/** Offset of the first byte that begins no well-formed UTF-8 sequence (Unicode Standard, table 3-7), or -1. */
export function firstInvalidUtf8(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return -1;
}

/** Length of the well-formed sequence at an offset, 0 when there is none. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  for (let index = 1; index < length; index += 1) {
    const byte = bytes[at + index] ?? 0;
    // The second byte's range excludes overlong forms, surrogates and what lies above U+10FFFF.
    const low = index > 1 ? 0x80 : lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const high = index > 1 ? 0xbf : lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    if (byte < low || byte > high) return 0;
  }
  return length;
}

/** By code points, the order of UTF-8 bytes; JavaScript's own order, by UTF-16 units, differs above U+FFFF. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates, which begin code points above U+FFFF, come after all other units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}
