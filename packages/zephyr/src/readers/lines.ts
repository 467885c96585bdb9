import { isAscii, isUtf8 } from "node:buffer";
import { formatBytes, isMarinError, MarinError } from "@marin/iris";
import { byteOrderMarkLength, decodeUtf8, withWholeMark } from "../utf8.js";
import type { FormatInput } from "./format.js";

/** One line of a file, without its line feed. */
export interface Line {
  /** Its bytes; a carriage return at the end is among them. */
  readonly bytes: Buffer;
  /** Its number, from 1 up. Undefined in a part that does not begin with the file. */
  readonly number: number | undefined;
  /** Its first byte in the unpacked file. */
  readonly offset: number;
  /** What is known of its bytes already. */
  readonly text: "ascii" | "utf8" | "unchecked";
}

/** Settings of {@link lineBatches}. */
export interface LineOptions {
  /** For messages. */
  readonly path: string;
  /** Longest line accepted, in bytes. */
  readonly maxLineBytes: number;
  /** What the user calls that limit. Default "maxLineBytes". */
  readonly limitName?: string;
  /** Takes a line that is longer: it is passed over, unless this throws. */
  readonly tooLong: (error: MarinError, beginning: Uint8Array) => void;
  /** The first byte of the part, where the chunks begin with the byte before it. Default: the chunks are a whole file. */
  readonly start?: number | undefined;
  /** The byte that no line of the part begins at or behind. Default: the end. */
  readonly end?: number | undefined;
}

/**
 * The lines of a file or a part, one array for each chunk: one promise a chunk is a fraction of the cost of one a line. A
 * part has the lines that begin in it.
 */
export async function* lineBatches(chunks: AsyncIterable<Buffer>, { path, maxLineBytes, limitName = "maxLineBytes", tooLong, start = 0, end = Infinity }: LineOptions): AsyncGenerator<Line[]> {
  // Pieces of a line that the chunks before have begun; none are kept of one that is passed over.
  let pieces: Buffer[] = [];
  let piecesLength = 0;
  const isPart = start > 0;
  // What stands before the part's first line feed belongs to the part before.
  let isPassedOver = isPart;
  let isFirst = true;
  let number = 1;
  let offset = Math.max(0, start - 1);
  const lineNumber = (): number | undefined => (isPart ? undefined : number);
  const refuse = (beginning: Uint8Array): void => tooLong(lineTooLong({ path, line: lineNumber(), offset, limit: maxLineBytes, limitName }), beginning);
  for await (const chunk of isPart ? chunks : withWholeMark(chunks)) {
    const lines: Line[] = [];
    let at = isFirst && !isPart ? byteOrderMarkLength(chunk) : 0;
    offset += at;
    isFirst = false;
    const text = kindOf(chunk.subarray(at, chunk.lastIndexOf(10) + 1));
    for (let feed = chunk.indexOf(10, at); feed !== -1; feed = chunk.indexOf(10, at)) {
      const rest = chunk.subarray(at, feed);
      const length = piecesLength + rest.length;
      if (!isPassedOver) {
        const bytes = pieces.length === 0 ? rest : Buffer.concat([...pieces, rest]);
        if (length > maxLineBytes) refuse(bytes);
        else lines.push({ bytes, number: lineNumber(), offset, text: pieces.length === 0 ? text : "unchecked" });
      }
      [pieces, piecesLength, isPassedOver] = [[], 0, false];
      number += 1;
      offset += length + 1;
      at = feed + 1;
      if (offset >= end) break;
    }
    yield lines;
    if (offset >= end) return;
    const left = chunk.subarray(at);
    piecesLength += left.length;
    if (isPassedOver || left.length === 0) continue;
    pieces.push(left);
    if (piecesLength <= maxLineBytes) continue;
    refuse(pieces[0] ?? left);
    [pieces, isPassedOver] = [[], true];
  }
  if (piecesLength > 0 && !isPassedOver) yield [{ bytes: Buffer.concat(pieces), number: lineNumber(), offset, text: "unchecked" }];
}

/** A line as text. */
export interface TextLine {
  /** Without its end, LF or CR LF. */
  readonly text: string;
  /** Its number, from 1 up; undefined in a part that does not begin with the file. */
  readonly line: number | undefined;
  /** Its first byte in the unpacked file. */
  readonly offset: number;
}

/**
 * The lines of a file for a format of one's own, as strict UTF-8. One that is no UTF-8, or longer than the limit, is reported by
 * `input.bad`.
 *
 * @param input - what the format's `read` is given; of a part it gives the lines that begin in it, if parts are bytes
 * @param maxLineBytes - longest line, in bytes. Default 256 MiB
 */
export async function* textLines(input: FormatInput, maxLineBytes = 1 << 28): AsyncGenerator<TextLine> {
  const { path, part } = input;
  const chunks = input.chunks({ start: Math.max(0, (part?.start ?? 0) - 1) });
  for await (const lines of lineBatches(chunks, { path, maxLineBytes, tooLong: input.bad, start: part?.start, end: part?.end })) {
    for (const line of lines) {
      let text: string;
      try {
        text = lineText(path, line);
      } catch (error) {
        if (!isMarinError(error)) throw error;
        input.bad(error, line.bytes);
        continue;
      }
      yield { text: text.endsWith("\r") ? text.slice(0, -1) : text, line: line.number, offset: line.offset };
    }
  }
}

/** The text of a line, strictly. @throws MarinError ZEPHYR_NOT_UTF8 */
export function lineText(path: string, { bytes, number, offset, text }: Line): string {
  if (text === "ascii") return bytes.toString("latin1");
  if (text === "utf8") return bytes.toString("utf8");
  return decodeUtf8(bytes, { path, offset, ...(number === undefined ? {} : { line: number }) });
}

/** "line 3", or where no lines are counted "the line at byte 120". */
export function lineName(number: number | undefined, offset: number): string {
  return number === undefined ? `the line at byte ${String(offset)}` : `line ${String(number)}`;
}

/** Whole chunks are checked faster than their lines one by one. */
function kindOf(bytes: Buffer): Line["text"] {
  return isAscii(bytes) ? "ascii" : isUtf8(bytes) ? "utf8" : "unchecked";
}

function lineTooLong({ path, line, offset, limit, limitName }: { path: string; line: number | undefined; offset: number; limit: number; limitName: string }): MarinError {
  return new MarinError(
    "ZEPHYR_LINE_TOO_LONG",
    `${path}, ${lineName(line, offset)} is longer than ${formatBytes(limit)}: is the file what its name says, with a record a line? If it is, raise ${limitName}.`,
    { data: { path, ...(line === undefined ? {} : { line }), offset, limit } },
  );
}
