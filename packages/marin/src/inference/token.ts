import { readFile } from "node:fs/promises";
import { fileError, MarinError } from "@marin/rigging";

/**
 * The token in a file, without the white space around it.
 *
 * @throws MarinError MARIN_INFERENCE_BAD_TOKEN when it is shorter than 16 characters or has others than a header can hold; file errors
 */
export async function readToken(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw fileError(error, { action: "read the token in", path: file });
  });
  const token = text.trim();
  if (/^[\x21-\x7e]{16,}$/.test(token)) return token;
  throw new MarinError("MARIN_INFERENCE_BAD_TOKEN", `${file} must hold one token of at least 16 printable ASCII characters, for example what "openssl rand -hex 32" prints`, { data: { file } });
}

/** Throws unless only this machine reaches the address, or a token is asked for. */
export function requireToken(host: string, token: string | undefined): void {
  if (token !== undefined || /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)) return;
  throw new MarinError("MARIN_INFERENCE_TOKEN_NEEDED", `on ${host} others can reach the server: give a token that its clients must show, or serve on 127.0.0.1`, { data: { host } });
}
