import { JsonlReader } from "@marin/zephyr";
import { z } from "zod";
import type { Document } from "./corpus/document.js";

const document = z.object({ id: z.string(), text: z.string(), source: z.string() });

/**
 * The documents of a JSON Lines file, in order.
 *
 * @param path - a file that `collectDocuments` or `splitDocuments` wrote
 * @param signal - stops the reading, throwing its reason
 * @throws MarinError ZEPHYR_BAD_RECORD, ZEPHYR_BAD_JSON, ZEPHYR_NOT_UTF8 naming file and line, RIGGING_NOT_FOUND and the other file errors
 */
export function readDocuments(path: string, signal?: AbortSignal): AsyncIterable<Document> {
  return new JsonlReader<Document>({ path, parse: (value) => document.parse(value), ...(signal === undefined ? {} : { signal }) });
}
