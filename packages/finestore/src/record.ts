import { MarinError, readJson } from "@marin/rigging";
import { z } from "zod";
import { canonicalJson, sha256 } from "./fingerprint.js";
import { provenanceSchema } from "./provenance.js";

/** The store's on-disk format. A store or artifact of another one is refused. */
export const formatVersion = 2;

/** Name of an artifact's record, inside its directory. */
export const recordFileName = "artifact.json";

const hexDigest = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits");

const relativePath = z.string().refine(isSafeRelativePath, "must be a relative path of plain segments with /, without . or ..");

const fileSchema = z.strictObject({
  path: relativePath.describe("path inside the artifact's directory, with /"),
  bytes: z.number().int().nonnegative().describe("size"),
  sha256: hexDigest.describe("SHA-256 of the content"),
});

const inputSchema = z.strictObject({
  name: z.string().describe("the step that produced the input"),
  fingerprint: hexDigest.describe("what went into the input"),
  digest: hexDigest.describe("what was read: the input's content digest"),
});

/** An artifact's record as it is stored. */
export const recordSchema = z.strictObject({
  formatVersion: z.literal(formatVersion).describe("version of this format"),
  name: z.string().describe("the step that produced the artifact"),
  version: z.string().describe("version of the step's code"),
  fingerprint: hexDigest.describe("identity: what went in"),
  config: z.json().describe("the configuration it was produced with"),
  inputs: z.record(z.string(), inputSchema).describe("the artifacts it was made from, by role"),
  files: z.array(fileSchema).describe("every file that belongs to the content, by path"),
  digest: hexDigest.describe("SHA-256 of the canonical JSON of all of the above: equal content and lineage, equal digest"),
  provenance: provenanceSchema.describe("about the run, not the content; not in the digest"),
});

/** An artifact's record. */
export type ArtifactRecord = z.output<typeof recordSchema>;

/** One file of an artifact. */
export type ArtifactFile = z.output<typeof fileSchema>;

/** An artifact that another was made from. */
export type ArtifactInput = z.output<typeof inputSchema>;

/** The content digest of a record. */
export function digestOf(record: Omit<ArtifactRecord, "digest" | "provenance">): string {
  const { formatVersion: format, name, version, fingerprint, config, inputs, files } = record;
  return sha256(canonicalJson({ formatVersion: format, name, version, fingerprint, config, inputs, files }));
}

/**
 * Refuses a file that another version of this package wrote, before its content is judged by this version's rules.
 *
 * @throws MarinError FINESTORE_NEWER_FORMAT, FINESTORE_OLDER_FORMAT
 */
export async function refuseOtherFormat(path: string): Promise<void> {
  const { formatVersion: found } = await readJson(path, z.looseObject({ formatVersion: z.number().int().positive() }));
  if (found === formatVersion) return;
  const data = { path, found, known: formatVersion };
  if (found > formatVersion) {
    throw new MarinError(
      "FINESTORE_NEWER_FORMAT",
      `${path} has format ${String(found)}, this version of finestore knows format ${String(formatVersion)}: update the program, or choose another store directory.`,
      { data },
    );
  }
  throw new MarinError(
    "FINESTORE_OLDER_FORMAT",
    `${path} has format ${String(found)}, this version of finestore writes format ${String(formatVersion)} and cannot use what an older one left: choose another store directory, or remove that one; its artifacts are made again.`,
    { data },
  );
}

function isSafeRelativePath(path: string): boolean {
  if (/[\\:]|\p{Cc}/u.test(path)) return false;
  return path.split("/").every((segment) => segment !== "" && segment !== "." && segment !== "..");
}
