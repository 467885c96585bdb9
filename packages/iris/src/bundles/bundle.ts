import { createHash } from "node:crypto";
import { MarinError, formatBytes } from "../platform.js";
import { compressed, packArchive } from "./archive.js";
import type { SkippedEntry, TreeEntry } from "./tree.js";
import { readWorkspace } from "./workspace.js";

/** Bytes of a workspace's files at most. */
export const maxBundleBytes = 100_000_000;

/** Files and links of a workspace at most. */
export const maxBundleEntries = 100_000;

/** How to make a bundle. */
export interface BundleOptions {
  /** Bytes of all files together at most. Default 100,000,000. */
  readonly maxBytes?: number;
  /** Ends the reading, with its reason as the error. Default: never. */
  readonly signal?: AbortSignal;
}

/** A snapshot of a workspace, named by what is in it. */
export interface Bundle {
  /** "sha256-" and 64 hexadecimal digits, of the archive before it is compressed: equal files give equal digests on every machine. */
  readonly digest: string;
  /** The compressed archive. */
  readonly data: Uint8Array;
  /** Files and links in it. */
  readonly files: number;
  /** Bytes of the files. */
  readonly bytes: number;
  /** What was left out although git would take it up: secrets, links that lead out. */
  readonly skipped: readonly SkippedEntry[];
}

/**
 * Takes a snapshot of a workspace: the files that git would take up, without secrets. See {@link readWorkspace}.
 *
 * @param directory - the workspace
 * @throws MarinError IRIS_BUNDLE_TOO_LARGE (names the largest directories), IRIS_FILE_CHANGED, file errors; the signal's reason
 */
export async function createBundle(directory: string, { maxBytes = maxBundleBytes, signal }: BundleOptions = {}): Promise<Bundle> {
  let bytes = 0;
  let files = 0;
  const byTop = new Map<string, number>();
  const onEntry = (entry: TreeEntry): void => {
    const top = entry.path.split("/").slice(0, 2).join("/");
    byTop.set(top, (byTop.get(top) ?? 0) + entry.bytes);
    bytes += entry.bytes;
    files += 1;
    // Whatever else is there, it is too much: a home directory need not be read to its end.
    if (bytes > 50 * maxBytes || files > maxBundleEntries) throw tooLarge(directory, { bytes, files, maxBytes, byTop, partly: true });
  };
  const { entries, skipped } = await readWorkspace(directory, { onEntry, signal });
  if (bytes > maxBytes) throw tooLarge(directory, { bytes, files, maxBytes, byTop, partly: false });
  const hash = createHash("sha256");
  const chunks: Uint8Array[] = [];
  const hashed = async function* (): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of packArchive(directory, entries, signal)) {
      hash.update(chunk);
      yield chunk;
    }
  };
  for await (const chunk of compressed(hashed())) chunks.push(chunk);
  return { digest: `sha256-${hash.digest("hex")}`, data: Buffer.concat(chunks), files: entries.length, bytes, skipped };
}

/** Whether a text has the form of a bundle's digest. */
export function isBundleDigest(text: string): boolean {
  return /^sha256-[0-9a-f]{64}$/.test(text);
}

interface Excess {
  readonly bytes: number;
  readonly files: number;
  readonly maxBytes: number;
  readonly byTop: ReadonlyMap<string, number>;
  readonly partly: boolean;
}

function tooLarge(directory: string, { bytes, files, maxBytes, byTop, partly }: Excess): MarinError {
  const largest = [...byTop].sort(([, a], [, b]) => b - a).slice(0, 3).map(([path, size]) => `${path} (${formatBytes(size)})`);
  const found = `${partly ? "at least " : ""}${formatBytes(bytes)} in ${partly ? "more than " : ""}${String(files)} files`;
  const message = `The workspace ${directory} has ${found}; a bundle may have ${formatBytes(maxBytes)} and ${String(maxBundleEntries)} files. The most is in ${largest.join(", ")}: ` +
    "name in .gitignore what tasks do not need, and read data from storage.";
  return new MarinError("IRIS_BUNDLE_TOO_LARGE", message, { data: { directory, bytes, files, maxBytes } });
}
