import { fileError, isMarinError, lockDirectory, MarinError, publishDirectory, readJson, sha256File, writeFileAtomic } from "@marin/rigging";
import { lstat, mkdir, readdir, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { canonicalJson } from "./fingerprint.js";
import { type ArtifactFile, type ArtifactRecord, digestOf, formatVersion, recordFileName, recordSchema, refuseNewerFormat } from "./record.js";

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
  /** The inputs, as given to `fingerprint`. */
  readonly inputs: Readonly<Record<string, string>>;
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
}

/** How a production starts. */
export interface ProductionStart {
  /** Whether the directory holds what a stopped attempt has left; only when `resumable`. */
  readonly resume: boolean;
}

/**
 * Artifacts by name and fingerprint under one directory:
 *
 *     <store>/finestore.json                             the store's format
 *     <store>/<name>/<fingerprint>/artifact.json, ...    a finished artifact, its record written last
 *     <store>/<name>/<fingerprint>.partial/              one being produced, held by one process
 *
 * An artifact's directory appears by one rename, complete; it is never changed afterwards. Nothing in it names the store's
 * place, so a store can be moved or copied.
 */
export class Store {
  /** The store's directory. */
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  /**
   * Opens the store in a directory; makes both when missing.
   *
   * @throws MarinError FINESTORE_NEWER_FORMAT when a newer version of this package wrote it; FINESTORE_NOT_A_DIRECTORY when a file is there;
   * FINESTORE_CORRUPT when its format file is damaged; rigging's file errors
   */
  static async open(directory: string): Promise<Store> {
    const path = join(directory, "finestore.json");
    try {
      await makeDirectory(directory);
      if (!(await exists(path))) await writeFileAtomic(path, `${JSON.stringify({ formatVersion })}\n`);
    } catch (error) {
      throw fileError(error, { action: "make the store", path: directory });
    }
    try {
      await refuseNewerFormat(path);
      await readJson(path, z.strictObject({ formatVersion: z.literal(formatVersion) }));
    } catch (error) {
      if (!isMarinError(error, "RIGGING_BAD_JSON") && !isMarinError(error, "RIGGING_BAD_FIELD")) throw error;
      throw new MarinError("FINESTORE_CORRUPT", `${error.message} It was changed or damaged: remove this one file and run again; the artifacts beside it stay.`, {
        data: { path, directory, file: "finestore.json" },
        cause: error,
      });
    }
    return new Store(directory);
  }

  /**
   * Where an artifact is, or would be.
   *
   * @throws MarinError FINESTORE_BAD_NAME
   */
  path(name: string, fingerprint: string): string {
    if (!/^[a-z0-9][a-z0-9_-]*$/.test(name)) throw badName("name", name, 'lower-case letters, digits, "_" and "-"');
    if (!/^[0-9a-f]{64}$/.test(fingerprint)) throw badName("fingerprint", fingerprint, "64 hexadecimal digits");
    return join(this.directory, name, fingerprint);
  }

  /**
   * The finished artifact, or undefined when there is none. Checks its record, and the presence and size of each file;
   * {@link verify} checks the content as well.
   *
   * @throws MarinError FINESTORE_CORRUPT naming the file, what was expected and found; FINESTORE_NEWER_FORMAT
   */
  async get(name: string, fingerprint: string): Promise<Artifact | undefined> {
    const directory = this.path(name, fingerprint);
    if (!(await exists(directory))) return undefined;
    const record = await readRecord(directory, name, fingerprint);
    for (const file of record.files) {
      const found = await lstat(join(directory, file.path)).catch(() => undefined);
      if (found?.isFile() !== true) throw corrupt(directory, file.path, "a file", "nothing");
      if (found.size !== file.bytes) throw corrupt(directory, file.path, `${String(file.bytes)} bytes`, `${String(found.size)} bytes`);
    }
    return { directory, record };
  }

  /**
   * Reads every file of an artifact and compares its SHA-256 with the record.
   *
   * @throws MarinError FINESTORE_CORRUPT naming the first file that differs, what was expected and found
   */
  async verify(artifact: Artifact): Promise<void> {
    for (const file of artifact.record.files) {
      const found = await sha256File(join(artifact.directory, file.path)).catch((error: unknown) => {
        if (isMarinError(error, "RIGGING_NOT_FOUND")) throw corrupt(artifact.directory, file.path, "a file", "nothing");
        throw error;
      });
      if (found !== file.sha256) throw corrupt(artifact.directory, file.path, `SHA-256 ${file.sha256}`, `SHA-256 ${found}`);
    }
  }

  /**
   * Produces an artifact unless it is there already. `fill` writes into a directory that stays the same from attempt to
   * attempt, also after a kill; when it returns, its files are hashed, the record is written, and the directory is
   * renamed into place.
   *
   * @param name - the step's name
   * @param fingerprint - from `fingerprint(...)` over the same name and description
   * @param description - what to record
   * @param fill - writes the files; a plain file or directory name of its choice each, except "artifact.json"
   * @throws MarinError FINESTORE_BUSY when another process is producing it (`data.pid`); FINESTORE_BAD_FILE for a link, a
   * device, or a file of the record's name; FINESTORE_BAD_RECORD for a file name that not every system can hold, or an input
   * that is no fingerprint; FINESTORE_NOT_JSON; rigging's file errors; whatever else `fill` throws,
   * unchanged
   */
  async produce(
    name: string,
    fingerprint: string,
    description: ArtifactDescription,
    fill: (directory: string, start: ProductionStart) => Promise<void>,
  ): Promise<Artifact> {
    const directory = this.path(name, fingerprint);
    const partial = `${directory}.partial`;
    canonicalJson(description.config); // Refused before the work, not after it.
    const lock = await lockDirectory(partial).catch((error: unknown) => {
      throw isMarinError(error, "RIGGING_LOCKED") ? busy(name, fingerprint, error) : error;
    });
    const files = join(partial, "files");
    let keep = false;
    try {
      const present = await this.get(name, fingerprint);
      if (present !== undefined) return present;
      if (description.resumable !== true) await rm(files, { recursive: true, force: true });
      const resume = await exists(files);
      await mkdir(files, { recursive: true });
      await rm(join(files, recordFileName), { force: true });
      keep = description.resumable === true;
      const started = performance.now();
      await fill(files, { resume });
      if (await exists(join(files, recordFileName))) throw badFile(files, recordFileName, "has the name of the artifact's record");
      const record = await makeRecord(name, fingerprint, description, files, performance.now() - started);
      await writeFileAtomic(join(files, recordFileName), `${JSON.stringify(record, null, 2)}\n`);
      await publishDirectory(files, directory);
      keep = false;
      return { directory, record };
    } catch (error) {
      throw fileError(error, { action: "produce the artifact in", path: files });
    } finally {
      if (!keep) await rm(files, { recursive: true, force: true });
      await lock.release();
      // Goes only when empty: another process may hold it by now.
      if (!keep) await rmdir(partial).catch(() => undefined);
    }
  }
}

async function makeRecord(
  name: string,
  fingerprint: string,
  description: ArtifactDescription,
  directory: string,
  durationMs: number,
): Promise<ArtifactRecord> {
  const skipped = [recordFileName, ...(description.runRecords ?? [])];
  const files: ArtifactFile[] = [];
  for await (const { path, bytes } of walk(directory, "", skipped)) {
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
  const producedBy = {
    createdAt: new Date().toISOString(),
    durationMs: Math.round(durationMs),
    nodeVersion: process.version,
    platform: `${process.platform}-${process.arch}`,
  };
  const result = recordSchema.safeParse({ ...payload, digest: digestOf(payload), producedBy });
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0] ?? { path: [], message: "" };
  const field = path.map(String).join(".");
  const value = path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown>)[key], payload);
  throw new MarinError("FINESTORE_BAD_RECORD", `${name} cannot be recorded: ${field} ${message}, found ${JSON.stringify(value)}.`, {
    data: { name, field, value },
  });
}

async function* walk(root: string, inside: string, skipped: readonly string[]): AsyncGenerator<{ path: string; bytes: number }> {
  for (const entry of await readdir(join(root, inside), { withFileTypes: true })) {
    const path = inside === "" ? entry.name : `${inside}/${entry.name}`;
    if (skipped.includes(path)) continue;
    if (entry.isDirectory()) yield* walk(root, path, skipped);
    else if (entry.isFile()) yield { path, bytes: (await lstat(join(root, path))).size };
    else throw badFile(root, path, "is neither a file nor a directory: an artifact holds only those");
  }
}

async function readRecord(directory: string, name: string, fingerprint: string): Promise<ArtifactRecord> {
  const path = join(directory, recordFileName);
  let record: ArtifactRecord;
  try {
    await refuseNewerFormat(path);
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

/**
 * Makes a directory and those around it. Node's own recursive mkdir never ends where the system answers "no such directory" beside an
 * existing one, as in /proc, and says little about a file in the way.
 */
async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && !(await stat(directory)).isDirectory()) {
      throw new MarinError("FINESTORE_NOT_A_DIRECTORY", `Cannot make the store ${directory}: a file of that name is there; choose another directory.`, { data: { directory } });
    }
    if (code === "EEXIST") return;
    const parent = dirname(directory);
    if (code !== "ENOENT" || parent === directory || (await exists(parent))) throw error;
    await makeDirectory(parent);
    await makeDirectory(directory);
  }
}

/** Whether there is anything at the path; what cannot be looked at is an error, not an absence. */
async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw fileError(error, { action: "read", path });
  }
}

function corrupt(directory: string, file: string, expected: string, found: string, cause?: unknown): MarinError {
  const path = join(directory, file);
  return new MarinError("FINESTORE_CORRUPT", `${path} was changed or damaged: expected ${expected}, found ${found}. Remove ${directory} and run again to rebuild it.`, {
    data: { path, directory, file, expected, found },
    ...(cause === undefined ? {} : { cause }),
  });
}

function badFile(root: string, path: string, problem: string): MarinError {
  return new MarinError("FINESTORE_BAD_FILE", `${join(root, path)} ${problem}.`, { data: { path } });
}

function badName(field: string, found: string, rule: string): MarinError {
  return new MarinError("FINESTORE_BAD_NAME", `An artifact's ${field} consists of ${rule}, found ${JSON.stringify(found)}.`, { data: { field, found } });
}

function busy(name: string, fingerprint: string, cause: MarinError): MarinError {
  return new MarinError("FINESTORE_BUSY", `Artifact ${name} (${fingerprint.slice(0, 12)}) is being produced already. ${cause.message}`, {
    data: { name, fingerprint, ...cause.data },
    cause,
  });
}
