import { createHash } from "node:crypto";
import { sha256File } from "@marin/rigging";
import { builtinPackageVersions } from "./corpus/builtin-sources.js";
import { builtinSource, listBuiltinFolder, listSource, type TextSource } from "./corpus/list-source.js";

/**
 * Identifies what {@link collectDocuments} would read: the names and contents of the folder's text files, and for the built-in texts the versions of the
 * packages that carry them. Where it is unchanged, documents collected before are still right; where the files lie does not matter.
 *
 * @param source - what would be read
 * @param signal - stops the work, throwing its reason
 * @returns SHA-256 as 64 hexadecimal digits
 * @throws MarinError MARIN_SOURCE_UNUSABLE, MARIN_DATA_PACKAGE_MISSING
 */
export async function sourceFingerprint(source: TextSource, signal?: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  const isBuiltin = source.source === builtinSource;
  if (isBuiltin) hash.update(JSON.stringify(await builtinPackageVersions(source.resolveFrom)));
  for (const { source: name, path } of isBuiltin ? await listBuiltinFolder(source) : (await listSource(source)).files) {
    signal?.throwIfAborted();
    hash.update(JSON.stringify([name, await sha256File(path)]));
  }
  return hash.digest("hex");
}
