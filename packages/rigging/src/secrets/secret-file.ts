import { readFile } from "node:fs/promises";
import { MarinError } from "@marin/ducky";

/**
 * The content of a file that holds a secret, without one trailing line end.
 *
 * @returns undefined when there is no such file
 * @throws MarinError RIGGING_SECRET_UNREADABLE
 */
export async function readSecretFile(path: string): Promise<string | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new MarinError("RIGGING_SECRET_UNREADABLE", `The file of a secret cannot be read: ${path} (${code ?? "unknown reason"}).`, { data: { scheme: "file", path }, cause });
  }
  const text = bytes.toString("utf8");
  // Bytes that are no text would be changed on the way, and what is sent would then be another secret.
  if (!Buffer.from(text, "utf8").equals(bytes)) {
    throw new MarinError("RIGGING_SECRET_UNREADABLE", `The file of a secret does not hold UTF-8 text: ${path}.`, { data: { scheme: "file", path } });
  }
  return text.replace(/\r?\n$/, "");
}
