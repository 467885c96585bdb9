import { formatBytes, isMarinError, MarinError, type Storage } from "@marin/iris";
import { byteOrderMarkLength, decodeUtf8, withWholeMark } from "../utf8.js";
import { readChunks } from "./chunks.js";

/** Settings of a {@link JsonlReader}. */
export interface JsonlReaderOptions<T> {
  /** The file: one JSON value a line, UTF-8; packed with gzip when its name ends in .gz. */
  readonly path: string;
  /**
   * Checks each value and gives it its type, for example a zod schema's `parse`; what it throws is reported with file and
   * line. Default: the value as it is, unchecked.
   */
  readonly parse?: (value: unknown) => T;
  /** Where the file lies. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage;
  /** Aborts the reading. Default: never. */
  readonly signal?: AbortSignal;
  /** Longest line accepted, in bytes. Default 256 MiB, half of what a JavaScript string can hold. */
  readonly maxLineBytes?: number;
  /** Most bytes worked on at once. Default: as they come, about 1 MiB. */
  readonly chunkBytes?: number;
}

/** One line of a file, without its line end. */
interface Line {
  readonly bytes: Buffer;
  readonly number: number;
  readonly offset: number;
}

/**
 * The records of a JSON Lines file, in order. Lines of white space only are passed over, a byte order mark is dropped,
 * CR LF is a line end too; the last line needs none. Can be iterated again.
 *
 * Iterating throws MarinError ZEPHYR_BAD_JSON (file and line), ZEPHYR_BAD_RECORD (the value was refused by `parse`),
 * ZEPHYR_NOT_UTF8 (file, line, offset), ZEPHYR_LINE_TOO_LONG, ZEPHYR_BAD_GZIP, RIGGING_NOT_FOUND and the other file errors.
 * Offsets in a packed file count its unpacked bytes.
 */
export class JsonlReader<T = unknown> implements AsyncIterable<T> {
  readonly #options: JsonlReaderOptions<T>;

  /** @param options - the file and how to read it */
  constructor(options: JsonlReaderOptions<T>) {
    this.#options = options;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    const { path, parse } = this.#options;
    for await (const lines of this.#lines()) {
      for (const line of lines) {
        if (isBlank(line.bytes)) continue;
        const value = parseLine(path, line);
        yield parse === undefined ? (value as T) : checkValue(path, line, value, parse);
      }
    }
  }

  /** The lines, one array for each chunk read: one promise a chunk is a fraction of the cost of one a line. */
  async *#lines(): AsyncGenerator<Line[]> {
    const { path, storage, signal, maxLineBytes = 1 << 28, chunkBytes } = this.#options;
    // Pieces of a line that the chunks before have begun.
    let pieces: Buffer[] = [];
    let piecesLength = 0;
    let number = 1;
    let offset = 0;
    for await (const chunk of withWholeMark(readChunks(path, { storage, signal, chunkBytes }))) {
      const lines: Line[] = [];
      let start = number === 1 && offset === 0 && piecesLength === 0 ? byteOrderMarkLength(chunk) : 0;
      offset += start;
      for (let end = chunk.indexOf(10, start); end !== -1; end = chunk.indexOf(10, start)) {
        const rest = chunk.subarray(start, end);
        const bytes = pieces.length === 0 ? rest : Buffer.concat([...pieces, rest]);
        lines.push({ bytes, number, offset });
        pieces = [];
        piecesLength = 0;
        number += 1;
        offset += bytes.length + 1;
        start = end + 1;
      }
      if (start < chunk.length) pieces.push(chunk.subarray(start));
      piecesLength += chunk.length - start;
      if (piecesLength > maxLineBytes) throw lineTooLong(path, number, maxLineBytes);
      yield lines;
    }
    if (piecesLength > 0) yield [{ bytes: Buffer.concat(pieces), number, offset }];
  }
}

/** Only what JSON calls white space. */
function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 32 && byte !== 13 && byte !== 9) return false;
  return true;
}

function parseLine(path: string, line: Line): unknown {
  const text = decodeUtf8(line.bytes, { path, offset: line.offset, line: line.number });
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MarinError("ZEPHYR_BAD_JSON", `${path}, line ${String(line.number)} is not JSON: ${reason}.`, {
      data: { path, line: line.number, offset: line.offset, bytes: line.bytes.length },
      cause,
    });
  }
}

function checkValue<T>(path: string, line: Line, value: unknown, parse: (value: unknown) => T): T {
  try {
    return parse(value);
  } catch (cause) {
    if (isMarinError(cause, "ZEPHYR_BAD_RECORD")) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MarinError("ZEPHYR_BAD_RECORD", `${path}, line ${String(line.number)} does not hold what it should: ${reason}`, {
      data: { path, line: line.number, offset: line.offset },
      cause,
    });
  }
}

function lineTooLong(path: string, line: number, limit: number): MarinError {
  return new MarinError(
    "ZEPHYR_LINE_TOO_LONG",
    `${path}, line ${String(line)} is longer than ${formatBytes(limit)}: is it JSON Lines, one value a line? If it is, raise maxLineBytes.`,
    { data: { path, line, limit } },
  );
}
