import { createHash } from "node:crypto";
import { sha256File } from "@marin/rigging";
import { builtinPackageVersions } from "./corpus/builtin-sources.js";
import { listTextFiles } from "./corpus/folder-source.js";
import { builtinSource } from "./collect-documents.js";

/**
 * Identifies what {@link collectDocuments} would read: the versions of the data packages, or the names and contents of the
 * folder's text files. Where it is unchanged, documents collected before are still right.
 *
 * @param source - `"builtin"` or a folder
 * @param resolveFrom - path or URL of a module whose package depends on the data packages
 * @param signal - stops the work, throwing its reason
 * @returns SHA-256 as 64 hexadecimal digits
 * @throws MarinError of {@link listTextFiles}, and MARIN_DATA_PACKAGE_MISSING
 */
export async function sourceFingerprint(source: string, resolveFrom: string | URL, signal?: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  if (source === builtinSource) return hash.update(JSON.stringify(await builtinPackageVersions(resolveFrom))).digest("hex");
  for (const { name, path } of (await listTextFiles(source)).files) {
    signal?.throwIfAborted();
    hash.update(JSON.stringify([name, await sha256File(path)]));
  }
  return hash.digest("hex");
}
