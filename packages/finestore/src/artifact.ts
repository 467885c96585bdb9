import { isMarinError, MarinError, type ProcessIdentity, readJson, sha256File } from "@marin/rigging";
import { join } from "node:path";
import { corrupt } from "./errors.js";
import { walkFiles } from "./files.js";
import { anonymousRun, type Provenance, type RunProvenance } from "./provenance.js";
import { type ArtifactFile, type ArtifactInput, type ArtifactRecord, digestOf, formatVersion, recordFileName, recordSchema, refuseOtherFormat } from "./record.js";

/** A finished artifact: immutable files in a directory, and the record of what they are. */
export interface Artifact {
  /** Absolute or relative as the store was opened. Read from it; never write into it. */
  readonly directory: string;
  /** What it is, what it was made from, and its files. */
  readonly record: ArtifactRecord;
}

/** What the store records about an artifact to be produced. */
export interface ArtifactDescription {
  /** Version of the step's code, as given to `fingerprint`. */
  readonly version: string;
  /** The configuration, as given to `fingerprint`: plain JSON. */
  readonly config: unknown;
  /** The artifacts it is made from, by the roles given to `fingerprint`. */
  readonly inputs: Readonly<Record<string, ArtifactInput>>;
  /**
   * Whether the producer can continue what an attempt that was stopped has left. Default false: it starts with an empty
   * directory, and nothing stays of a failed attempt.
   */
  readonly resumable?: boolean;
  /**
   * Files and directories that tell about the run (logs, throughput), not about the content: kept in the artifact's
   * directory, but neither in its record nor in its digest, and not verified. Relative paths with /. Default none.
   */
  readonly runRecords?: readonly string[];
  /** Whether to produce it anew when it is there; it stays until the new one is complete. Default false. */
  readonly replace?: boolean;
  /** Who runs what; see `describeRun`. Default: this user on this machine, nothing said of the sources. */
  readonly provenance?: RunProvenance;
  /**
   * The process that this one works for and does not outlive for long. Others that meet this one after that process's end wait for its
   * end, instead of being refused. Default: none.
   */
  readonly onBehalfOf?: ProcessIdentity | undefined;
}

/** The times of an attempt, in milliseconds since 1970. */
export interface AttemptTimes {
  readonly started: number;
  readonly finished: number;
}

/**
 * Hashes an artifact's files and makes its record.
 *
 * @throws MarinError FINESTORE_BAD_FILE, FINESTORE_BAD_RECORD
 */
export async function makeRecord(name: string, fingerprint: string, description: ArtifactDescription, directory: string, times: AttemptTimes): Promise<ArtifactRecord> {
  const files: ArtifactFile[] = [];
  for await (const { path, bytes } of walkFiles(directory, [recordFileName, ...(description.runRecords ?? [])])) {
    files.push({ path, bytes, sha256: await sha256File(join(directory, path)) });
  }
  const payload = {
    formatVersion,
    name,
    version: description.version,
    fingerprint,
    // Through JSON, so that what is recorded is what a reader will find: keys that are undefined are gone.
    config: JSON.parse(JSON.stringify(description.config)) as ArtifactRecord["config"],
    inputs: { ...description.inputs },
    files: files.sort((a, b) => (a.path < b.path ? -1 : 1)),
  } as const;
  const provenance: Provenance = {
    ...(description.provenance ?? anonymousRun()),
    startedAt: new Date(times.started).toISOString(),
    finishedAt: new Date(times.finished).toISOString(),
    durationMs: Math.max(0, Math.round(times.finished - times.started)),
    nodeVersion: process.version,
    platform: `${process.platform}-${process.arch}`,
  };
  const result = recordSchema.safeParse({ ...payload, digest: digestOf(payload), provenance });
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0] ?? { path: [], message: "" };
  const field = path.map(String).join(".");
  const value = path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], payload);
  throw new MarinError("FINESTORE_BAD_RECORD", `${name} cannot be recorded: ${field} ${message}, found ${JSON.stringify(value)}.`, {
    data: { name, field, value },
  });
}

/**
 * Reads an artifact's record and checks that it is whole and in its place.
 *
 * @throws MarinError FINESTORE_CORRUPT, FINESTORE_NEWER_FORMAT, FINESTORE_OLDER_FORMAT
 */
export async function readRecord(directory: string, name: string, fingerprint: string): Promise<ArtifactRecord> {
  const path = join(directory, recordFileName);
  let record: ArtifactRecord;
  try {
    await refuseOtherFormat(path);
    record = await readJson(path, recordSchema);
  } catch (error) {
    if (isMarinError(error, "RIGGING_NOT_FOUND")) throw corrupt(directory, recordFileName, "a file", "nothing", error);
    if (isMarinError(error, "RIGGING_BAD_JSON") || isMarinError(error, "RIGGING_BAD_FIELD")) {
      throw corrupt(directory, recordFileName, "an artifact's record", error.message, error);
    }
    throw error;
  }
  const digest = digestOf(record);
  if (digest !== record.digest) throw corrupt(directory, recordFileName, `digest ${record.digest}`, `content with digest ${digest}`);
  if (record.name !== name || record.fingerprint !== fingerprint) {
    throw corrupt(directory, recordFileName, `${name} ${fingerprint}`, `${record.name} ${record.fingerprint}`);
  }
  return record;
}
