import { isMarinError, MarinError, type Storage } from "@marin/iris";
import { currentStorage } from "../storage.js";
import { BadRecords } from "./bad-records.js";
import { readChunks } from "./chunks.js";
import { parseExactly } from "./exact-json.js";
import type { FilePart, Format, OnBadRecord } from "./format.js";
import { Flattened, type RecordGroups } from "./groups.js";
import { lineBatches, type Line, lineName, lineText } from "./lines.js";
import { numberSetting } from "./settings.js";

/** Settings of a {@link JsonlReader}. */
export interface JsonlReaderOptions<T> {
  /** The file: one JSON value a line, UTF-8; packed when its name ends in .gz, .zst or .xz. */
  readonly path: string;
  /**
   * Checks each value and gives it its type, for example a zod schema's `parse`; what it throws is reported with file and
   * line. Default: the value as it is, unchecked.
   */
  readonly parse?: (value: unknown) => T;
  /** What becomes of lines that are no such record. Default "fail". */
  readonly onBadRecord?: OnBadRecord;
  /** Where the file lies. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage;
  /** Aborts the reading. Default: never. */
  readonly signal?: AbortSignal;
  /** Longest line accepted, in bytes. Default 256 MiB, half of what a JavaScript string can hold. */
  readonly maxLineBytes?: number;
  /** Most bytes worked on at once. Default: as they come, about 1 MiB. */
  readonly chunkBytes?: number;
}

const defaultMaxLineBytes = 1 << 28;

/**
 * The records of a JSON Lines file, in order. Lines of white space only are passed over, a byte order mark is dropped,
 * CR LF is a line end too; the last line needs none. A whole number beyond 2^53 is a bigint, any other the nearest float64. Can be iterated again.
 *
 * Iterating throws MarinError ZEPHYR_BAD_JSON (file and line), ZEPHYR_BAD_RECORD (the value was refused by `parse`),
 * ZEPHYR_NOT_UTF8 (file, line, offset), ZEPHYR_LINE_TOO_LONG, unless bad records are passed over; ZEPHYR_BAD_GZIP,
 * ZEPHYR_BAD_ZSTD, ZEPHYR_BAD_XZ, RIGGING_CHANGED, RIGGING_NOT_FOUND and the other file errors. Offsets in a packed file count its
 * unpacked bytes.
 */
export class JsonlReader<T = unknown> implements AsyncIterable<T> {
  readonly #options: JsonlReaderOptions<T>;

  /** @param options - the file and how to read it */
  constructor(options: JsonlReaderOptions<T>) {
    this.#options = options;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    const { path, parse, storage = currentStorage(), signal, maxLineBytes = defaultMaxLineBytes, chunkBytes, onBadRecord = "fail" } = this.#options;
    const bad = new BadRecords(path, onBadRecord, storage);
    const finish = parse === undefined ? (value: unknown): T => value as T : (value: unknown, line: Line): T => checkValue(path, line, value, parse);
    return new Flattened(bad.closeAfter(jsonlGroups(readChunks(path, { storage, signal, chunkBytes }), { path, maxLineBytes, report: bad.report, finish })));
  }
}

/** What a line gives that is no record and was reported. */
const passedOver = Symbol("passed over");

/** How {@link jsonlGroups} reads. */
interface JsonlOptions<T> {
  readonly path: string;
  readonly maxLineBytes: number;
  readonly part?: FilePart | undefined;
  /** Takes what is no record: it is passed over, unless this throws. */
  readonly report: (error: MarinError, sample: Uint8Array) => void;
  /** Makes the record of a line's value, or {@link passedOver}; a MarinError that it throws is reported. */
  readonly finish: (value: unknown, line: Line) => T | typeof passedOver;
}

async function* jsonlGroups<T>(chunks: AsyncIterable<Buffer>, { path, maxLineBytes, part, report, finish }: JsonlOptions<T>): RecordGroups<T> {
  const recordsOf = function* (lines: readonly Line[]): Generator<T> {
    for (const line of lines) {
      if (isBlank(line.bytes)) continue;
      let record: T | typeof passedOver;
      try {
        record = finish(parseLine(path, line), line);
      } catch (error) {
        if (!isMarinError(error)) throw error;
        report(error, line.bytes);
        continue;
      }
      if (record !== passedOver) yield record;
    }
  };
  for await (const lines of lineBatches(chunks, { path, maxLineBytes, tooLong: report, start: part?.start, end: part?.end })) yield recordsOf(lines);
}

/** JSON Lines, as {@link readRecords} reads them. */
export const jsonlFormat: Format = {
  name: "jsonl",
  endings: [".jsonl", ".ndjson"],
  settings: ["maxLineBytes"],
  finishes: true,
  groups(input) {
    const { path, part } = input;
    const maxLineBytes = numberSetting(input, "maxLineBytes", 1) ?? defaultMaxLineBytes;
    const finish = (value: unknown, line: Line): unknown => {
      const record = input.record(value, { line: line.number, offset: line.offset });
      return record === undefined ? passedOver : record;
    };
    const chunks = input.chunks({ start: Math.max(0, (part?.start ?? 0) - 1) });
    return jsonlGroups(chunks, { path, maxLineBytes, part, report: input.bad, finish });
  },
  async split({ open }, shardBytes) {
    const source = await open?.();
    return source === undefined ? undefined : evenParts(source.bytes, shardBytes);
  },
};

/** Parts of about the same size, none above `most`. */
function evenParts(total: number, most: number): FilePart[] {
  const count = Math.max(1, Math.ceil(total / most));
  return Array.from({ length: count }, (_, index) => ({ start: Math.floor((total * index) / count), end: Math.floor((total * (index + 1)) / count) }));
}

/** Only what JSON calls white space. */
function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 32 && byte !== 13 && byte !== 9) return false;
  return true;
}

function parseLine(path: string, line: Line): unknown {
  const text = lineText(path, line);
  try {
    return parseExactly(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MarinError("ZEPHYR_BAD_JSON", `${path}, ${lineName(line.number, line.offset)} is not JSON: ${reason}.`, {
      data: { path, ...lineData(line), bytes: line.bytes.length },
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
    throw new MarinError("ZEPHYR_BAD_RECORD", `${path}, ${lineName(line.number, line.offset)} does not hold what it should: ${reason}`, {
      data: { path, ...lineData(line) },
      cause,
    });
  }
}

function lineData({ number, offset }: Line): { readonly line?: number; readonly offset: number } {
  return number === undefined ? { offset } : { line: number, offset };
}
