import { stat } from "node:fs/promises";
import { MarinError, isMarinError } from "@marin/ducky";
import { StoragePath } from "../storage/path.js";
import type { Storage, StorageEntry } from "../storage/storage.js";

/** What a word of the command line names. */
export type Target = ({ readonly kind: "file" } & StorageEntry) | { readonly kind: "directory"; readonly path: string };

/**
 * What a word of the command line names: an object, a directory (its path ends in "/"), or what a pattern matches. A name that is there is taken as it is, whatever
 * characters it has.
 *
 * @throws MarinError RIGGING_NOT_FOUND
 */
export async function targetsOf(storage: Storage, word: string): Promise<readonly Target[]> {
  const found = await targetOf(storage, word);
  if (found !== undefined) return [found];
  if (/[*?[{]/.test(word)) {
    const matches: Target[] = [];
    for await (const entry of storage.glob(word)) matches.push({ kind: "file", ...entry });
    if (matches.length > 0) return matches;
  }
  throw new MarinError("RIGGING_NOT_FOUND", `There is nothing at ${word}.`, { data: { path: word } });
}

/** What is at a path; undefined where nothing is. */
export async function targetOf(storage: Storage, word: string): Promise<Target | undefined> {
  const { scheme, segments } = StoragePath.parse(word);
  const bucketAlone = (error: unknown): undefined => {
    if (segments.length === 0 && isMarinError(error, "RIGGING_BAD_PATH")) return undefined;
    throw error;
  };
  const entry = word.endsWith("/") || word === "." || word === ".." ? undefined : await storage.stat(word).catch(bucketAlone);
  if (entry !== undefined) return { kind: "file", path: word, bytes: entry.bytes };
  const path = directoryPath(word);
  if (scheme === "" && (await stat(word).catch(() => undefined))?.isDirectory() === true) return { kind: "directory", path };
  for await (const _ of storage.listDirectory(path)) return { kind: "directory", path };
  return undefined;
}

/** The path with "/" at its end. */
export function directoryPath(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}
