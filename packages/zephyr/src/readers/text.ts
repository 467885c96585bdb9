import { fileError } from "@marin/iris";
import { readFile } from "node:fs/promises";
import { byteOrderMarkLength, decodeUtf8 } from "../utf8.js";

/**
 * Reads a whole text file as strict UTF-8. A byte order mark at its start is dropped; line ends stay as they are.
 *
 * @throws MarinError ZEPHYR_NOT_UTF8 naming the file and the offset of the first bad byte; RIGGING_NOT_FOUND and the
 * other file errors
 */
export async function readTextFile(path: string): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw fileError(error, { action: "read", path });
  });
  const offset = byteOrderMarkLength(bytes);
  return decodeUtf8(bytes.subarray(offset), { path, offset });
}
