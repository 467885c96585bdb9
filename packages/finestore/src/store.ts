import { fileError, isMarinError, lockDirectory, type DirectoryLock, MarinError, type ProcessIdentity, publishDirectory, readJson, sha256File, writeFileAtomic } from "@marin/rigging";
import { lstat, mkdir, readdir, rename, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { type Artifact, type ArtifactDescription, makeRecord, readRecord } from "./artifact.js";
import { badFile, badName, busy, corrupt } from "./errors.js";
import { exists, makeDirectory } from "./files.js";
import { canonicalJson } from "./fingerprint.js";
import { type LineageEntry, walkLineage } from "./lineage.js";
import { formatVersion, recordFileName, refuseOtherFormat } from "./record.js";

/** How long to wait for a holder whose own master is gone, in milliseconds. */
const ORPHAN_PATIENCE_MS = 5000;
const ORPHAN_POLL_MS = 50;

const namePattern = /^[a-z0-9][a-z0-9_-]*$/;
const fingerprintPattern = /^[0-9a-f]{64}$/;

/** How a production starts. */
export interface ProductionStart {
  /** Whether the directory holds what a stopped attempt has left; only when `resumable`. */
  readonly resume: boolean;
}

/** What lies in a store under one name and fingerprint. */
export interface StoreEntry {
  readonly name: string;
  readonly fingerprint: string;
  /** "finished"; "partial": what a stopped attempt has left, or one that still runs; "damaged": `error` says what is wrong. */
  readonly state: "finished" | "partial" | "damaged";
  /** Present when finished. */
  readonly artifact?: Artifact;
  /** Present when damaged. */
  readonly error?: MarinError;
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
   * @throws MarinError FINESTORE_NEWER_FORMAT, FINESTORE_OLDER_FORMAT when another version of this package wrote it; FINESTORE_NOT_A_DIRECTORY when a
   * file is there; FINESTORE_CORRUPT when its format file is damaged; rigging's file errors
   */
  static async open(directory: string): Promise<Store> {
    const path = join(directory, "finestore.json");
    try {
      await makeDirectory(directory);
      if (!(await exists(path))) await writeFileAtomic(path, `${JSON.stringify({ formatVersion })}\n`);
    } catch (error) {
      throw fileError(error, { action: "make the store", path: directory });
    }
    await checkFormat(directory);
    return new Store(directory);
  }

  /**
   * Opens the store in a directory where there is one, and makes nothing.
   *
   * @returns undefined when there is none
   * @throws MarinError as {@link open}
   */
  static async openExisting(directory: string): Promise<Store | undefined> {
    if (!(await exists(join(directory, "finestore.json")))) return undefined;
    await checkFormat(directory);
    return new Store(directory);
  }

  /**
   * Where an artifact is, or would be.
   *
   * @throws MarinError FINESTORE_BAD_NAME
   */
  path(name: string, fingerprint: string): string {
    if (!namePattern.test(name)) throw badName("name", name, 'lower-case letters, digits, "_" and "-"');
    if (!fingerprintPattern.test(fingerprint)) throw badName("fingerprint", fingerprint, "64 hexadecimal digits");
    return join(this.directory, name, fingerprint);
  }

  /**
   * The finished artifact, or undefined when there is none. Checks its record, and the presence and size of each file;
   * {@link verify} checks the content as well.
   *
   * @throws MarinError FINESTORE_CORRUPT naming the file, what was expected and found; FINESTORE_NEWER_FORMAT, FINESTORE_OLDER_FORMAT
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

  /** Whether a stopped attempt has left files that a resumable producer would go on from, or is still at work on them. */
  hasAttempt(name: string, fingerprint: string): Promise<boolean> {
    return exists(join(`${this.path(name, fingerprint)}.partial`, "files"));
  }

  /**
   * Everything in the store, by name and fingerprint. An artifact that is damaged is listed as such; the others are not affected.
   *
   * @throws MarinError rigging's file errors
   */
  async list(): Promise<StoreEntry[]> {
    const entries: StoreEntry[] = [];
    for (const name of await directoriesIn(this.directory)) {
      if (!namePattern.test(name)) continue;
      for (const directory of await directoriesIn(join(this.directory, name))) {
        const fingerprint = directory.replace(/\.partial$/, "");
        if (fingerprintPattern.test(fingerprint)) entries.push(await this.#entry(name, fingerprint, directory === fingerprint));
      }
    }
    return entries;
  }

  async #entry(name: string, fingerprint: string, finished: boolean): Promise<StoreEntry> {
    if (!finished) return { name, fingerprint, state: "partial" };
    try {
      const artifact = await this.get(name, fingerprint);
      return artifact === undefined ? { name, fingerprint, state: "partial" } : { name, fingerprint, state: "finished", artifact };
    } catch (error) {
      if (isMarinError(error) && error.code.startsWith("FINESTORE_")) return { name, fingerprint, state: "damaged", error };
      throw error;
    }
  }

  /**
   * What an artifact was made from, and what that was made from, to the first: each once, inputs before what is made from them, the artifact itself
   * last.
   *
   * @throws MarinError FINESTORE_NOT_FOUND when the store does not hold the artifact; FINESTORE_CORRUPT
   */
  async lineage(name: string, fingerprint: string): Promise<LineageEntry[]> {
    const artifact = await this.get(name, fingerprint);
    if (artifact === undefined) {
      throw new MarinError("FINESTORE_NOT_FOUND", `The store ${this.directory} holds no artifact ${name} of fingerprint ${fingerprint}.`, { data: { name, fingerprint } });
    }
    return walkLineage(artifact, (inputName, inputFingerprint) => this.get(inputName, inputFingerprint));
  }

  /**
   * Removes an artifact and what a stopped attempt at it has left. What was made from it stays; its lineage then names a missing input.
   *
   * @returns whether there was anything
   * @throws MarinError FINESTORE_BUSY when a process is producing it; rigging's file errors
   */
  async remove(name: string, fingerprint: string): Promise<boolean> {
    const directory = this.path(name, fingerprint);
    const partial = `${directory}.partial`;
    const found = (await exists(directory)) || (await exists(partial));
    if (!found) return false;
    const lock = await hold(name, fingerprint, partial);
    try {
      if (await exists(directory)) await rename(directory, replacedIn(partial));
      for (const part of [replacedIn(partial), join(partial, "files")]) await rm(part, { recursive: true, force: true });
      return true;
    } catch (error) {
      throw fileError(error, { action: "remove the artifact", path: directory });
    } finally {
      await lock.release();
      await rmdir(partial).catch(() => undefined);
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
    const { resumable = false, replace = false } = description;
    const lock = await hold(name, fingerprint, partial, description.onBehalfOf);
    const files = join(partial, "files");
    let keep = false;
    try {
      await rm(replacedIn(partial), { recursive: true, force: true });
      const present = replace ? undefined : await this.get(name, fingerprint);
      if (present !== undefined) return present;
      if (!resumable) await rm(files, { recursive: true, force: true });
      const resume = await exists(files);
      await mkdir(files, { recursive: true });
      await rm(join(files, recordFileName), { force: true });
      keep = resumable;
      const started = Date.now();
      await fill(files, { resume });
      if (await exists(join(files, recordFileName))) throw badFile(files, recordFileName, "has the name of the artifact's record");
      const record = await makeRecord(name, fingerprint, description, files, { started, finished: Date.now() });
      await writeFileAtomic(join(files, recordFileName), `${JSON.stringify(record, null, 2)}\n`);
      if (replace && (await exists(directory))) await rename(directory, replacedIn(partial));
      await publishDirectory(files, directory);
      keep = false;
      return { directory, record };
    } catch (error) {
      throw fileError(error, { action: "produce the artifact in", path: files });
    } finally {
      if (!keep) for (const part of [replacedIn(partial), files]) await rm(part, { recursive: true, force: true });
      await lock.release();
      // Goes only when empty: another process may hold it by now.
      if (!keep) await rmdir(partial).catch(() => undefined);
    }
  }
}

/** Where an artifact lies between its disappearance by one rename and the removal of its files. */
function replacedIn(partial: string): string {
  return join(partial, "replaced");
}

/**
 * Takes an artifact for this process. A holder whose master is gone is about to go as well and is waited for; any other is a refusal at
 * once.
 */
async function hold(name: string, fingerprint: string, partial: string, onBehalfOf?: ProcessIdentity): Promise<DirectoryLock> {
  const started = performance.now();
  for (;;) {
    try {
      return await lockDirectory(partial, { onBehalfOf });
    } catch (error) {
      if (!isMarinError(error, "RIGGING_LOCKED")) throw error;
      if (error.data["orphaned"] !== true || performance.now() - started > ORPHAN_PATIENCE_MS) throw busy(name, fingerprint, error);
      await setTimeout(ORPHAN_POLL_MS);
    }
  }
}

async function checkFormat(directory: string): Promise<void> {
  const path = join(directory, "finestore.json");
  try {
    await refuseOtherFormat(path);
    await readJson(path, z.strictObject({ formatVersion: z.literal(formatVersion) }));
  } catch (error) {
    if (!isMarinError(error, "RIGGING_BAD_JSON") && !isMarinError(error, "RIGGING_BAD_FIELD")) throw error;
    throw new MarinError("FINESTORE_CORRUPT", `${error.message} It was changed or damaged: remove this one file and run again; the artifacts beside it stay.`, {
      data: { path, directory, file: "finestore.json" },
      cause: error,
    });
  }
}

async function directoriesIn(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort();
  } catch (error) {
    throw fileError(error, { action: "list", path: directory });
  }
}
