import { open } from "node:fs/promises";
import { join } from "node:path";

/** Names of files that hold secrets, whatever is in them. */
const names =
  /^(?:\.env(?:\..+)?|\.envrc|.+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|\.netrc|_netrc|\.pypirc|\.pgpass|\.htpasswd|\.git-credentials|\.vault-token|\.dockercfg|credentials|credentials\.json|application_default_credentials\.json|client_secrets?.*\.json)$/i;

/** Those that only show how one would look. */
const examples = /^\.env\.(?:example|sample|template|dist|defaults)$/i;

/** Directories that hold secrets. */
const directories = /^(?:\.ssh|\.aws|\.gnupg|\.kube|\.azure|\.docker)$/i;

/** A file that begins so is a private key. */
const keyStart = /^\s*(?:-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----|PuTTY-User-Key-File-)/;

/** Settings of package managers, which may hold tokens. */
const packageSettings = /^\.(?:npmrc|yarnrc|yarnrc\.yml)$/i;

/** Whether a file or directory must not leave the machine by its name alone. */
export function isSecretName(name: string, kind: "directory" | "file" | "link"): boolean {
  return kind === "directory" ? directories.test(name) : names.test(name) && !examples.test(name);
}

/**
 * Whether a file holds a private key, an account's key or a registry's token, by what is in it. Only the beginning of a file is looked at.
 *
 * @param root - the directory
 * @param path - the file below it
 */
export async function holdsKey(root: string, path: string): Promise<boolean> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const start = await beginningOf(join(root, path), 1 << 14);
  if (keyStart.test(start)) return true;
  if (packageSettings.test(name)) return /(?:_authToken|_auth|_password|npmAuthToken|npmAuthIdent)\s*[=:]/.test(start);
  return /\.json$/i.test(name) && /"type"\s*:\s*"service_account"/.test(start) && /"private_key"\s*:/.test(start);
}

async function beginningOf(path: string, bytes: number): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await file.close();
  }
}
