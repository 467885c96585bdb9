import { MarinError, readJson } from "@marin/rigging";
import { z } from "zod";
import { canonicalJson, sha256 } from "./fingerprint.js";

/** The store's on-disk format. A store or artifact of a higher one is refused. */
export const formatVersion = 1;

/** Name of an artifact's record, inside its directory. */
export const recordFileName = "artifact.json";

const fingerprintText = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits");

const relativePath = z.string().refine(isSafeRelativePath, "must be a relative path of plain segments with /, without . or ..");

const fileSchema = z.strictObject({
  path: relativePath.describe("path inside the artifact's directory, with /"),
  bytes: z.number().int().nonnegative().describe("size"),
  sha256: fingerprintText.describe("SHA-256 of the content"),
});

/** An artifact's record as it is stored. */
export const recordSchema = z.strictObject({
  formatVersion: z.literal(formatVersion).describe("version of this format"),
  name: z.string().describe("the step that produced the artifact"),
  version: z.string().describe("version of the step's code"),
  fingerprint: fingerprintText.describe("identity: what went in"),
  config: z.json().describe("the configuration it was produced with"),
  inputs: z.record(z.string(), fingerprintText).describe("fingerprints of the artifacts it was made from, by role"),
  files: z.array(fileSchema).describe("every file that belongs to the content, by path"),
  digest: fingerprintText.describe("SHA-256 of the canonical JSON of all of the above: equal content, equal digest"),
  producedBy: z
    .strictObject({
      createdAt: z.string().describe("ISO 8601"),
      durationMs: z.number().nonnegative().describe("time of the last attempt"),
      nodeVersion: z.string().describe("for example v20.20.2"),
      platform: z.string().describe("for example linux-x64"),
    })
    .describe("about the run, not the content; not in the digest"),
});

/** An artifact's record. */
export type ArtifactRecord = z.output<typeof recordSchema>;

/** One file of an artifact. */
export type ArtifactFile = z.output<typeof fileSchema>;

/** The content digest of a record. */
export function digestOf(record: Omit<ArtifactRecord, "digest" | "producedBy">): string {
  const { formatVersion: format, name, version, fingerprint, config, inputs, files } = record;
  return sha256(canonicalJson({ formatVersion: format, name, version, fingerprint, config, inputs, files }));
}

/**
 * Refuses a file that a newer version of this package wrote, before its content is judged by this version's rules.
 *
 * @throws MarinError FINESTORE_NEWER_FORMAT
 */
export async function refuseNewerFormat(path: string): Promise<void> {
  const { formatVersion: found } = await readJson(path, z.looseObject({ formatVersion: z.number().int() }));
  if (found <= formatVersion) return;
  throw new MarinError(
    "FINESTORE_NEWER_FORMAT",
    `${path} has format ${String(found)}, this version of finestore knows formats up to ${String(formatVersion)}: update the program, or choose another store directory.`,
    { data: { path, found, known: formatVersion } },
  );
}

function isSafeRelativePath(path: string): boolean {
  if (/[\\:]|\p{Cc}/u.test(path)) return false;
  return path.split("/").every((segment) => segment !== "" && segment !== "." && segment !== "..");
}
