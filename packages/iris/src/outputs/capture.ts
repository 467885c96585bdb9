import { readdir } from "node:fs/promises";
import { compressed, packArchive } from "../bundles/archive.js";
import { type SkippedEntry, type TreeEntry, readTree } from "../bundles/tree.js";
import { MarinError, type Storage, formatBytes, formatDuration, isMarinError } from "../platform.js";

/** What a capture of outputs takes at most. */
export interface OutputLimits {
  /** Bytes of all files together. Default 2 GiB. */
  readonly maxBytes?: number;
  /** Files and links. Default 10,000. */
  readonly maxEntries?: number;
  /** Time for the whole capture, in milliseconds. Default 300,000. */
  readonly timeoutMs?: number;
}

/** What became of an attempt's outputs. */
export type OutputCapture =
  /** The attempt has written none. */
  | { readonly kind: "none" }
  /** They are kept as a compressed tar archive. */
  | { readonly kind: "archived"; readonly path: string; readonly files: number; readonly bytes: number; readonly skipped: readonly SkippedEntry[] }
  /** They are not kept, and this is why. The attempt's result is what it would be without. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

/** What {@link captureOutputs} is to keep, and where. */
export interface CaptureOptions {
  /** The attempt's IRIS_OUTPUT_DIR. One that is missing holds nothing. */
  readonly directory: string;
  /** Where archives are kept. */
  readonly storage: Pick<Storage, "write">;
  /** The archive's path there, which nothing has yet: `<attempt's uid>.tar.gz`. */
  readonly path: string;
  /** At most so much. */
  readonly limits?: OutputLimits;
  /** Ends the capture, which has failed then. Default: never. */
  readonly signal?: AbortSignal;
}

/** Entries that were left out are named up to here. */
const maxSkipped = 20;

/**
 * Keeps what an attempt has written into its IRIS_OUTPUT_DIR: all of it, or nothing. Links that lead out of the directory are left out. Whatever goes
 * wrong is told in the result; this never throws.
 *
 * @param options - what to keep, and where
 */
export async function captureOutputs({ directory, storage, path, limits = {}, signal }: CaptureOptions): Promise<OutputCapture> {
  const { maxBytes = 2 * 2 ** 30, maxEntries = 10_000, timeoutMs = 300_000 } = limits;
  const deadline = new AbortController();
  const timer = setTimeout(() => {
    deadline.abort(tooMuch(`took longer than ${formatDuration(timeoutMs)}`, { timeoutMs }));
  }, timeoutMs);
  const either = signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, signal]);
  try {
    if (await isEmpty(directory)) return { kind: "none" };
    let bytes = 0;
    let files = 0;
    const onEntry = (entry: TreeEntry): void => {
      if ((bytes += entry.bytes) > maxBytes) throw tooMuch(`are larger than ${formatBytes(maxBytes)}`, { maxBytes });
      if ((files += 1) > maxEntries) throw tooMuch(`are more than ${String(maxEntries)} files`, { maxEntries });
    };
    const { entries, skipped } = await readTree(directory, { onEntry, signal: either });
    // What hangs on a disk or a network does not look at a signal.
    await unlessAborted(storage.write(path, compressed(packArchive(directory, entries, either)), { ifAbsent: true, signal: either }), either);
    return { kind: "archived", path, files: entries.length, bytes, skipped: skipped.slice(0, maxSkipped) };
  } catch (error) {
    const reason = either.aborted ? (either.reason as unknown) : error;
    const message = reason instanceof Error ? reason.message : String(reason);
    return { kind: "failed", code: isMarinError(reason) ? reason.code : "IRIS_OUTPUTS_FAILED", message };
  } finally {
    clearTimeout(timer);
  }
}

function tooMuch(problem: string, data: Readonly<Record<string, number>>): MarinError {
  return new MarinError("IRIS_OUTPUTS_TOO_LARGE", `The outputs ${problem} and are not kept: write what is large to storage.`, { data });
}

async function isEmpty(directory: string): Promise<boolean> {
  return readdir(directory).then(
    (names) => names.length === 0,
    (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
      throw error;
    },
  );
}

async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
