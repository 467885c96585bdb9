import { Readable } from "node:stream";
import { crc32 } from "node:zlib";
import { isMarinError, MarinError } from "@marin/iris";
import type { Entry, ZipFile } from "yauzl";
import { asBuffer } from "../as-buffer.js";
import { unpack } from "../compression/unpack.js";
import type { ByteSource } from "../byte-source.js";
import { finishedGroups } from "./finish.js";
import type { Format, FormatInput } from "./format.js";
import type { RecordGroups } from "./groups.js";
import { listSetting } from "./settings.js";

/**
 * ZIP archives: the records of their members, in the archive's order, each by the ending of its name. A member of no kind that is
 * read is an error, unless the setting `members`, patterns like "data/*.jsonl", leaves it out. Names that begin with "." are passed over, as in listings:
 * macOS puts "__MACOSX/._a.jsonl" beside "a.jsonl". A pattern that no member matches is an error, unless `emptyOk`. Checksums are checked.
 *
 * @param formatOf - the format of a member's name
 */
export function zipFormat(formatOf: (path: string) => Format): Format {
  return {
    name: "zip",
    endings: [".zip"],
    settings: ["members"],
    randomAccess: true,
    finishes: true,
    async *groups(input) {
      const wanted = await matcherOf(listSetting(input, "members"));
      const passedOver: string[] = [];
      const source = await input.open?.();
      if (source === undefined) throw badZip(input.path, "it is packed itself: unpack it first");
      const archive = await openArchive(source);
      try {
        for await (const entry of archive.eachEntry()) {
          if (entry.fileName.endsWith("/")) continue;
          if (wanted.takes(entry.fileName)) yield* readMember(input, archive, entry, formatOf);
          else if (passedOver.length <= shownMembers) passedOver.push(entry.fileName);
        }
        if (!input.emptyOk) requireMatches(input.path, wanted.unmatched(), passedOver);
      } catch (cause) {
        throw isLibraryError(cause) ? badZip(input.path, cause.message, cause) : cause;
      } finally {
        archive.close();
      }
    },
  };
}

async function* readMember(input: FormatInput, archive: ZipFile, entry: Entry, formatOf: (path: string) => Format): RecordGroups<unknown> {
  const member = entry.fileName;
  const path = `${input.path}/${member}`;
  const format = formatOf(path);
  if (format.randomAccess === true) throw badZip(input.path, `its member ${member} is read in parts, which an archive does not allow: unpack the archive`);
  yield* finishedGroups(format, {
    ...input,
    path,
    open: undefined,
    version: undefined,
    part: undefined,
    settings: {},
    chunks: () => buffers(unpack(path, contentOf(input.path, archive, entry))),
    record: (value, position) => input.record(value, { ...position, member }),
  });
}

/** The bytes of a member. The library checks its size; its checksum is checked here. */
async function* contentOf(path: string, archive: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  if (entry.isEncrypted()) throw badZip(path, `its member ${entry.fileName} is encrypted: unpack the archive with its password`);
  const stream = await archive.openReadStreamPromise(entry);
  let checksum = 0;
  try {
    for await (const chunk of stream) {
      checksum = crc32(chunk as Buffer, checksum);
      yield chunk as Buffer;
    }
  } finally {
    stream.destroy();
  }
  if (checksum !== entry.crc32) throw badZip(path, `the checksum of its member ${entry.fileName} differs`);
}

async function* buffers(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield asBuffer(chunk);
}

async function openArchive(source: ByteSource): Promise<ZipFile> {
  const { default: yauzl } = await import("yauzl");
  class SourceReader extends yauzl.RandomAccessReader {
    override _readStreamForRange(start: number, end: number): Readable {
      return Readable.from(source.stream(start, end), { objectMode: false });
    }
  }
  try {
    return await yauzl.fromRandomAccessReaderPromise(new SourceReader(), source.bytes, { autoClose: false });
  } catch (cause) {
    throw isLibraryError(cause) ? badZip(source.path, cause.message, cause) : cause;
  }
}

/** Which members are read. */
interface Matcher {
  readonly takes: (member: string) => boolean;
  /** The patterns that no member asked about so far has matched. */
  readonly unmatched: () => readonly string[];
}

async function matcherOf(patterns: readonly string[] | undefined): Promise<Matcher> {
  if (patterns === undefined) return { takes: (member) => !/(?:^|\/)\.(?!\/)/.test(member), unmatched: () => [] };
  const { minimatch } = await import("minimatch");
  const unmatched = new Set(patterns);
  return {
    takes: (member) => {
      const matching = patterns.filter((pattern) => minimatch(member, pattern, { nocomment: true, nonegate: true, platform: "linux" }));
      for (const pattern of matching) unmatched.delete(pattern);
      return matching.length > 0;
    },
    unmatched: () => [...unmatched],
  };
}

/** Most names of members that a message tells. */
const shownMembers = 8;

/** @throws MarinError ZEPHYR_NO_FILES */
function requireMatches(path: string, unmatched: readonly string[], others: readonly string[]): void {
  const [pattern] = unmatched;
  if (pattern === undefined) return;
  const there = others.length === 0 ? "it has no others than those that are read" : `it has ${others.slice(0, shownMembers).join(", ")}${others.length > shownMembers ? " and more" : ""}`;
  throw new MarinError("ZEPHYR_NO_FILES", `No member of ${path} matches ${pattern}: ${there}. Look at the setting members, or say that there may be none ({ emptyOk: true }).`, { data: { path, pattern } });
}

/** Errors of yauzl and zlib; ours and those of signals come through. */
function isLibraryError(error: unknown): error is Error {
  return error instanceof Error && !isMarinError(error) && error.name !== "AbortError";
}

function badZip(path: string, reason: string, cause?: unknown): MarinError {
  return new MarinError("ZEPHYR_BAD_ZIP", `${path} cannot be read as a ZIP archive: ${reason}.`, { data: { path }, ...(cause === undefined ? {} : { cause }) });
}
