import { constants } from "node:buffer";
import { formatBytes, MarinError } from "@marin/iris";
import { byteOrderMarkLength, decodeUtf8 } from "../utf8.js";
import { type ChunkOptions, readChunks } from "./chunks.js";

/**
 * Reads a whole text file as strict UTF-8; one whose name ends in .gz is unpacked. A byte order mark at its start is
 * dropped; line ends stay as they are.
 *
 * @throws MarinError ZEPHYR_NOT_UTF8 naming the file and the offset of the first bad byte (of the unpacked text);
 * ZEPHYR_BAD_GZIP; ZEPHYR_TEXT_TOO_LONG (more than a JavaScript string holds, 512 MiB); RIGGING_NOT_FOUND and the other file errors
 */
export async function readTextFile(path: string, options: Pick<ChunkOptions, "storage" | "signal"> = {}): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of readChunks(path, options)) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > constants.MAX_STRING_LENGTH) {
      throw new MarinError("ZEPHYR_TEXT_TOO_LONG", `${path} holds more than ${formatBytes(constants.MAX_STRING_LENGTH)} of text, the most that one string takes: split it into several files.`, {
        data: { path, limit: constants.MAX_STRING_LENGTH },
      });
    }
  }
  const bytes = Buffer.concat(chunks, length);
  const offset = byteOrderMarkLength(bytes);
  return decodeUtf8(bytes.subarray(offset), { path, offset });
}
