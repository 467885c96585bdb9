import { formatBytes, isMarinError, MarinError } from "@marin/iris";
import { ByteReader } from "../compression/byte-reader.js";
import { decodeUtf8 } from "../utf8.js";
import type { Format, FormatInput } from "./format.js";
import { listSetting, numberSetting } from "./settings.js";
import { columnsToRead, fixedColumns } from "./table-columns.js";

/** A record of a web archive. */
export interface WarcRecord {
  /** "response", "request", "conversion", "warcinfo", ... */
  readonly type: string;
  /** Its name: a URI in angle brackets. */
  readonly id: string;
  /** When it was captured, as it is written: "2024-05-18T03:00:00Z". */
  readonly date: string;
  /** The page's address, where it has one. */
  readonly uri?: string;
  /** The headers by lower-case name; of one that occurs several times the values are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Of an HTTP answer: its status and headers. */
  readonly http?: { readonly status: number; readonly headers: Readonly<Record<string, string>> };
  /** The content, where its type is text and it is no HTTP message: the text of a page in a WET file. */
  readonly text?: string;
  /** The content otherwise; of an HTTP message its body, as it was stored. */
  readonly body?: Uint8Array;
}

/** Most bytes of the headers of one record. */
const headerLimit = 1 << 20;

/** Where a record is. */
interface Place {
  readonly path: string;
  readonly record: number;
  readonly offset: number;
}

/** Web archives (WARC 1.0, 1.1: ISO 28500), each record packed for itself or all together: every record, or those of the types asked for. */
export const warcFormat: Format = {
  name: "warc",
  endings: [".warc", ".wat"],
  settings: ["types", "maxRecordBytes"],
  finishes: true,
  async *read(input) {
    columnsToRead(input, fixedColumns("type", "id", "date", "uri", "headers", "http", "text", "body"));
    const types = listSetting(input, "types");
    for await (const { value, place } of warcRecords(input, { types })) {
      const record = input.record(value, place);
      if (record !== undefined) yield record;
    }
  },
};

/** Texts of web pages (WET): `{ id, uri, date, language?, text }` for each; the record that describes the archive is none. */
export const wetFormat: Format = {
  name: "wet",
  endings: [".wet"],
  settings: ["maxRecordBytes"],
  finishes: true,
  async *read(input) {
    columnsToRead(input, fixedColumns("id", "uri", "date", "language", "text"));
    for await (const { value, place } of warcRecords(input, { types: ["conversion"], texts: true })) {
      const { id, uri, date, text } = value;
      const language = value.headers["warc-identified-content-language"];
      const record = input.record({ id, uri: uri ?? null, date, language: language ?? null, text: text ?? "" }, place);
      if (record !== undefined) yield record;
    }
  },
};

/** What of an archive is wanted. */
interface Wanted {
  readonly types: readonly string[] | undefined;
  /** Whether the contents are texts, whatever their headers say. */
  readonly texts?: boolean;
}

async function* warcRecords(input: FormatInput, { types, texts = false }: Wanted): AsyncGenerator<{ readonly value: WarcRecord; readonly place: Place }> {
  const { path } = input;
  const limit = numberSetting(input, "maxRecordBytes", 1) ?? 1 << 28;
  const reader = new ByteReader(input.chunks());
  try {
    for (let number = 1; ; number += 1) {
      const place: Place = { path, record: number, offset: reader.offset };
      const head = await readHead(reader, place);
      if (head === undefined) return;
      const { headers, length, isLoose } = head;
      const type = headers["warc-type"] ?? "";
      if (types?.includes(type) === false || length > limit) {
        if ((await reader.skip(length)) < length) throw cutShort(place);
        await readEnd(reader, place, isLoose);
        if (types?.includes(type) !== false) input.bad(new MarinError("ZEPHYR_RECORD_TOO_LONG", `${path}, ${named(place)} holds ${formatBytes(length)}, more than ${formatBytes(limit)}: raise maxRecordBytes.`, { data: { ...place, limit } }), "");
        continue;
      }
      const start = reader.offset;
      const content = await reader.take(length);
      if (content.length < length) throw cutShort(place);
      await readEnd(reader, place, isLoose);
      let value: WarcRecord;
      try {
        value = recordOf(headers, content, { place, start, isText: texts });
      } catch (error) {
        if (!isMarinError(error)) throw error;
        input.bad(error, content);
        continue;
      }
      yield { value, place };
    }
  } finally {
    await reader.close();
  }
}

/** The version line and the headers; undefined at the file's end. */
async function readHead(reader: ByteReader, place: Place): Promise<{ readonly headers: Record<string, string>; readonly length: number; readonly isLoose: boolean } | undefined> {
  let size = 1024;
  let bytes = await reader.peek(size);
  if (bytes.length === 0) return undefined;
  let end = endOfHead(bytes);
  while (end === undefined && bytes.length === size && size < headerLimit) {
    size *= 4;
    bytes = await reader.peek(size);
    end = endOfHead(bytes);
  }
  const mark = bytes.toString("latin1", 0, 5);
  if (mark !== "WARC/") throw "WARC/".startsWith(mark) ? cutShort(place) : badWarc(place, "it does not begin with WARC/ and a version");
  if (end === undefined) throw bytes.length < size ? cutShort(place) : badWarc(place, `its headers do not end within ${formatBytes(headerLimit)}`);
  await reader.take(end.behind);
  const [, ...lines] = decodeUtf8(bytes.subarray(0, end.before), { path: place.path, offset: place.offset }).split(/\r?\n/);
  const headers = headersOf(lines);
  if (headers === undefined) throw badWarc(place, "one of its headers has no colon");
  const length = headers["content-length"];
  if (length === undefined || !/^\d{1,15}$/.test(length)) throw badWarc(place, `its Content-Length is ${length === undefined ? "missing" : JSON.stringify(length)}`);
  return { headers, length: Number(length), isLoose: bytes[end.before] === 10 };
}

/** Where the first empty line is: lines end in CR LF, as the standard asks, or in LF, as some writers have them. */
function endOfHead(bytes: Buffer): { readonly before: number; readonly behind: number } | undefined {
  for (let feed = bytes.indexOf(10); feed !== -1; feed = bytes.indexOf(10, feed + 1)) {
    const next = bytes[feed + 1] === 13 ? feed + 2 : feed + 1;
    if (bytes[next] === 10) return { before: bytes[feed - 1] === 13 ? feed - 1 : feed, behind: next + 1 };
  }
  return undefined;
}

/** Two line ends stand behind every record. @param isLoose - whether its headers end in LF alone: so may these */
async function readEnd(reader: ByteReader, place: Place, isLoose: boolean): Promise<void> {
  const found = (await reader.peek(4)).toString("latin1");
  const ends = isLoose ? ["\r\n\r\n", "\n\n"] : ["\r\n\r\n"];
  const end = ends.find((each) => found.startsWith(each));
  if (end === undefined) throw ends.some((each) => each.startsWith(found)) ? cutShort(place) : badWarc(place, "it does not end where its Content-Length says");
  await reader.take(end.length);
}

function recordOf(headers: Readonly<Record<string, string>>, content: Buffer, { place, start, isText }: { readonly place: Place; readonly start: number; readonly isText: boolean }): WarcRecord {
  const { "warc-type": type = "", "warc-record-id": id = "", "warc-date": date = "", "warc-target-uri": uri, "content-type": contentType = "" } = headers;
  const common = { type, id, date, ...(uri === undefined ? {} : { uri }), headers };
  if (isText || /^text\/|\+json|^application\/json/i.test(contentType)) return { ...common, text: decodeUtf8(content, { path: place.path, offset: start }) };
  // Copied: a view would keep the whole chunk around it.
  if (!/^application\/http/i.test(contentType)) return { ...common, body: Uint8Array.from(content) };
  const head = endOfHead(content) ?? { before: content.length, behind: content.length };
  const [status = "", ...lines] = content.toString("latin1", 0, head.before).split(/\r?\n/);
  const code = /^HTTP\/\S+ (\d{3})/.exec(status)?.[1];
  // Servers send what they like: a line that is no header is left out.
  const http = headersOf(lines.filter((line) => line.includes(":"))) ?? {};
  return { ...common, ...(code === undefined ? {} : { http: { status: Number(code), headers: http } }), body: Uint8Array.from(content.subarray(head.behind)) };
}

function headersOf(lines: readonly string[]): Record<string, string> | undefined {
  const headers = new Map<string, string>();
  let last = "";
  for (const line of lines) {
    // A line that begins with a space goes on with the one before.
    if (/^[ \t]/.test(line) && last !== "") {
      headers.set(last, `${headers.get(last) ?? ""} ${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === -1) return undefined;
    last = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = headers.get(last);
    headers.set(last, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(headers);
}

function named({ record, offset }: Place): string {
  return `record ${String(record)} at byte ${String(offset)}`;
}

function badWarc(place: Place, reason: string): MarinError {
  return new MarinError("ZEPHYR_BAD_WARC", `${place.path}, ${named(place)} cannot be read: ${reason}.`, { data: { ...place } });
}

function cutShort(place: Place): MarinError {
  return badWarc(place, "it ends before its Content-Length says: the file was cut short");
}
