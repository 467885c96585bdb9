import { MarinError } from "@marin/ducky";
import { looksLikeCredential } from "../redaction/credential-patterns.js";

/** Where a secret is to be had. */
export type SecretSource =
  | { readonly scheme: "env"; readonly variable: string }
  | { readonly scheme: "file"; readonly path: string }
  | { readonly scheme: "gcp-secret"; readonly project: string; readonly secret: string; readonly version: string };

/** How references are written, for messages. */
export const referenceForms = '"env:NAME", "file:/path" or "gcp-secret://projects/PROJECT/secrets/SECRET/versions/NUMBER"';

/** Longer names are values that were put in a name's place. */
const maxNameLength = 64;

/**
 * Reads a reference to a secret. What is no reference may be a secret itself, so no message repeats it.
 *
 * @throws MarinError RIGGING_BAD_SECRET_REFERENCE, RIGGING_SECRET_UNPINNED (a version that may become another)
 */
export function parseSecretReference(reference: string): SecretSource {
  const [, scheme, rest] = /^(env|file|gcp-secret):(.+)$/s.exec(reference) ?? [];
  if (scheme === "env" && rest !== undefined && /^[A-Za-z_][A-Za-z0-9_]*$/.test(rest) && !looksLikeCredential(rest)) return { scheme, variable: rest };
  if (scheme === "file" && rest !== undefined) {
    const path = rest.replace(/^\/\/(?=\/)/, "");
    if (/^(\/[^/\0]|[A-Za-z]:[\\/])[^\0]*$/.test(path)) return { scheme, path };
  }
  if (scheme === "gcp-secret" && rest !== undefined) {
    const [, project, secret, version] = /^\/\/projects\/([a-z0-9.:-]+)\/secrets\/([A-Za-z0-9_-]{1,255})(?:\/versions\/([A-Za-z0-9_-]+))?$/.exec(rest) ?? [];
    if (project !== undefined && secret !== undefined) {
      if (version !== undefined && /^[1-9]\d*$/.test(version)) return { scheme, project, secret, version };
      throw new MarinError("RIGGING_SECRET_UNPINNED", `A reference to a secret of Google's must name the number of its version (…/versions/3), since "latest" may become another at any time.`, { data: { scheme } });
    }
  }
  throw new MarinError("RIGGING_BAD_SECRET_REFERENCE", `This is not a reference to a secret${scheme === undefined ? "" : ` (it begins with ${scheme}:)`}: write ${referenceForms}. A secret's value itself is never written here.`, { data: scheme === undefined ? {} : { scheme } });
}

/** Whether the text has the form of a name ("openai_api_key") and not that of a credential. */
export function isSecretName(text: string): boolean {
  return /^[A-Za-z0-9_-]+$/.test(text) && text.length <= maxNameLength && !looksLikeCredential(text);
}
