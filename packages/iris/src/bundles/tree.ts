import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { fileError } from "../platform.js";
import { directoriesOf, unsafeLink, unsafePath } from "./archive-path.js";

/** A file or link of a directory that goes into an archive. */
export interface TreeEntry {
  /** Its place below the directory, joined by "/". */
  readonly path: string;
  /** Its size in bytes; 0 for a link. */
  readonly bytes: number;
  /** Whether its owner may execute it. */
  readonly executable: boolean;
  /** What a link names; undefined for a file. */
  readonly target?: string;
}

/** Something of a directory that is left out of an archive. */
export interface SkippedEntry {
  /** Its place below the directory, joined by "/". */
  readonly path: string;
  /** Why, as a phrase: "a link out of the directory". */
  readonly reason: string;
}

/** What {@link readTree} found. */
export interface Tree {
  /** Sorted by the UTF-8 bytes of their paths. */
  readonly entries: readonly TreeEntry[];
  /** What was left out although it was asked for, in the same order. */
  readonly skipped: readonly SkippedEntry[];
}

/** What {@link readTree} is to take. */
export interface TreeFilter {
  /** Called with each directory before what is in it. `names` are the entries' names. */
  readonly enter?: (path: string, names: readonly string[]) => Promise<void>;
  /** True: taken. False: left out silently. A text: left out, for that reason. Default: everything is taken. */
  readonly take?: (path: string, kind: "directory" | "file" | "link") => boolean | string | Promise<boolean | string>;
  /** Told of each file and link; may throw to give up. */
  readonly onEntry?: (entry: TreeEntry) => void;
  /** Ends the reading, with its reason as the error. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The files and links under a directory, without following links. Links to something that is not taken, and what is neither file, link
 * nor directory, are left out and named. Directories without files are not there.
 *
 * @param root - the directory
 * @param filter - what to take. Default: everything
 * @throws MarinError RIGGING_NOT_FOUND and other file errors; the signal's reason
 */
export async function readTree(root: string, filter: TreeFilter = {}): Promise<Tree> {
  const files = new Map<string, TreeEntry>();
  const skipped: SkippedEntry[] = [];
  const visit = async (path: string): Promise<void> => {
    filter.signal?.throwIfAborted();
    const names = (await readdir(join(root, path))).sort();
    await filter.enter?.(path, names);
    for (const name of names) await visitEntry(path === "" ? name : `${path}/${name}`);
  };
  const visitEntry = async (path: string): Promise<void> => {
    const found = await lstat(join(root, path)).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    });
    if (found === undefined) {
      // Else it has gone since its directory was read.
      if (path.includes("\uFFFD")) skipped.push({ path, reason: "a name that is not UTF-8" });
      return;
    }
    const taken = (await filter.take?.(path, found.isDirectory() ? "directory" : found.isSymbolicLink() ? "link" : "file")) ?? true;
    if (taken === false) return;
    const problem = taken === true ? unsafePath(path) : taken;
    if (problem !== undefined) skipped.push({ path, reason: problem });
    else if (found.isDirectory()) await visit(path);
    else if (found.isFile()) add({ path, bytes: found.size, executable: (found.mode & 0o100) !== 0 });
    else if (found.isSymbolicLink()) add({ path, bytes: 0, executable: false, target: await readlink(join(root, path)) });
    else skipped.push({ path, reason: "neither a file nor a directory" });
  };
  const add = (entry: TreeEntry): void => {
    files.set(entry.path, entry);
    filter.onEntry?.(entry);
  };
  try {
    await visit("");
  } catch (error) {
    throw fileError(error, { action: "read", path: root });
  }
  skipped.push(...dropLinks(files));
  return { entries: [...files.values()].sort(byPath), skipped: skipped.sort(byPath) };
}

/** Takes out the links that would lead nowhere, and those to them, and gives their names. */
function dropLinks(files: Map<string, TreeEntry>): SkippedEntry[] {
  const dropped: SkippedEntry[] = [];
  const links = [...files.values()].filter(({ target }) => target !== undefined);
  for (let before = -1; before !== dropped.length; ) {
    before = dropped.length;
    const directories = directoriesOf(files.keys());
    const kindOf = (path: string): "directory" | "file" | "link" | undefined => {
      const entry = files.get(path);
      return directories.has(path) ? "directory" : entry === undefined ? undefined : entry.target === undefined ? "file" : "link";
    };
    for (const { path, target } of links) {
      const reason = files.has(path) ? unsafeLink(path, target ?? "", kindOf) : undefined;
      if (reason === undefined) continue;
      files.delete(path);
      dropped.push({ path, reason });
    }
  }
  return dropped;
}

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return Buffer.compare(Buffer.from(a.path), Buffer.from(b.path));
}
