import { constants } from "node:buffer";
import { formatBytes, isMarinError, MarinError } from "@marin/iris";
import { byteOrderMarkLength, decodeUtf8 } from "../utf8.js";
import { type ChunkOptions, readChunks } from "./chunks.js";
import type { Format } from "./format.js";
import { textLines } from "./lines.js";
import { numberSetting } from "./settings.js";
import { columnsToRead, fixedColumns } from "./table-columns.js";

/**
 * Reads a whole text file as strict UTF-8; one whose name ends in .gz, .zst or .xz is unpacked. A byte order mark at its start is
 * dropped; line ends stay as they are.
 *
 * @throws MarinError ZEPHYR_NOT_UTF8 naming the file and the offset of the first bad byte (of the unpacked text);
 * ZEPHYR_BAD_GZIP, ZEPHYR_BAD_ZSTD, ZEPHYR_BAD_XZ; ZEPHYR_TEXT_TOO_LONG (more than a JavaScript string holds, 512 MiB);
 * RIGGING_CHANGED, RIGGING_NOT_FOUND and the other file errors
 */
export async function readTextFile(path: string, options: Pick<ChunkOptions, "storage" | "signal"> = {}): Promise<string> {
  const bytes = await gatherText(path, readChunks(path, options));
  const offset = byteOrderMarkLength(bytes);
  return decodeUtf8(bytes.subarray(offset), { path, offset });
}

/** Plain text: a file is one record, `{ text }`. */
export const textFormat: Format = {
  name: "text",
  endings: [".txt", ".text", ".md"],
  finishes: true,
  async *read(input) {
    columnsToRead(input, fixedColumns("text"));
    const bytes = await gatherText(input.path, input.chunks());
    const offset = byteOrderMarkLength(bytes);
    let text: string;
    try {
      text = decodeUtf8(bytes.subarray(offset), { path: input.path, offset });
    } catch (error) {
      if (!isMarinError(error)) throw error;
      input.bad(error, bytes);
      return;
    }
    const record = input.record({ text }, { record: 1 });
    if (record !== undefined) yield record;
  },
};

/** Plain text by lines: each is a record, `{ text }`, without its end. Asked for by name, `{ format: "lines" }`. */
export const linesFormat: Format = {
  name: "lines",
  endings: [],
  settings: ["maxLineBytes"],
  finishes: true,
  async *read(input) {
    columnsToRead(input, fixedColumns("text"));
    for await (const { text, line, offset } of textLines(input, numberSetting(input, "maxLineBytes", 1))) {
      const record = input.record({ text }, { line, offset });
      if (record !== undefined) yield record;
    }
  },
};

async function gatherText(path: string, chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    all.push(chunk);
    length += chunk.length;
    if (length > constants.MAX_STRING_LENGTH) {
      throw new MarinError("ZEPHYR_TEXT_TOO_LONG", `${path} holds more than ${formatBytes(constants.MAX_STRING_LENGTH)} of text, the most that one string takes: split it into several files, or read it by lines ({ format: "lines" }).`, {
        data: { path, limit: constants.MAX_STRING_LENGTH },
      });
    }
  }
  return Buffer.concat(all, length);
}
