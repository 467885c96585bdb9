import { MarinError } from "@marin/ducky";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import type { z } from "zod";
import { fileError } from "./file-error.js";

/**
 * Reads a JSON file (strict UTF-8) and checks it against a schema.
 *
 * @param path - the file
 * @param schema - what it must hold
 * @returns what the schema makes of it, defaults filled in
 * @throws MarinError RIGGING_NOT_FOUND and the other file errors; RIGGING_BAD_JSON when it is not JSON; RIGGING_BAD_FIELD
 * naming the file, the field and what would be right
 */
export async function readJson<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema>> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw fileError(error, { action: "read", path });
  });
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    const reason = bytes.length === 0 ? "it is empty" : cause instanceof SyntaxError ? cause.message : "it is not UTF-8 text";
    throw new MarinError("RIGGING_BAD_JSON", `${path} is not JSON: ${reason}.`, { data: { path, bytes: bytes.length }, cause });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => ({
    field: issue.path.map(String).join(".") || "(the whole file)",
    message: issue.message,
  }));
  const lines = problems.map(({ field, message }) => `${field}: ${message}`);
  throw new MarinError("RIGGING_BAD_FIELD", `${path} does not hold what it should. ${lines.join("; ")}`, {
    data: { path, problems },
    cause: result.error,
  });
}

/**
 * The SHA-256 of a file's bytes, read as a stream.
 *
 * @returns 64 hexadecimal digits, lower case
 * @throws MarinError RIGGING_NOT_FOUND and the other file errors
 */
export async function sha256File(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  } catch (error) {
    throw fileError(error, { action: "read", path });
  }
  return hash.digest("hex");
}
