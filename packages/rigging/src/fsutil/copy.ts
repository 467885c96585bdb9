import { createHash } from "node:crypto";
import { MarinError } from "@marin/ducky";
import { formatBytes } from "../bytes.js";
import { StoragePath } from "../storage/path.js";
import type { Storage } from "../storage/storage.js";
import type { Terminal } from "./terminal.js";
import { directoryPath, targetOf, targetsOf } from "./targets.js";

/** Objects that are copied at the same time. */
const concurrency = 4;

/** Settings of {@link copyAll}. */
export interface CopyOptions {
  /** Directories too, with all below them. */
  readonly recursive: boolean;
  /** Replace what is there. */
  readonly force: boolean;
  readonly signal: AbortSignal;
}

interface Pair {
  readonly from: string;
  readonly to: string;
  readonly bytes: number;
}

/**
 * Copies objects between any two kinds of storage. Each is read once, hashed on the way, and what was written is read back and must have the same hash.
 *
 * @throws MarinError RIGGING_IS_DIRECTORY without `recursive`, RIGGING_EXISTS without `force`, RIGGING_NOT_FOUND, RIGGING_COPY_DIFFERS; storage's errors
 */
export async function copyAll(storage: Storage, words: readonly string[], destination: string, { recursive, force, signal }: CopyOptions, terminal: Terminal): Promise<void> {
  const pairs = await pairsOf(storage, words, destination, recursive);
  const total = pairs.reduce((sum, { bytes }) => sum + bytes, 0);
  let [done, copied] = [0, 0];
  const stop = new AbortController();
  const within = AbortSignal.any([signal, stop.signal]);
  const queue = pairs.values();
  const worker = async (): Promise<void> => {
    for (const pair of queue) {
      const sha256 = await copyVerified(storage, pair, { ifAbsent: !force, signal: within }, (bytes) => {
        done += bytes;
        // Each byte passes twice: once written, once read back.
        terminal.progress(() => `${formatBytes(done / 2)} of ${formatBytes(total)}, ${String(copied)} of ${String(pairs.length)} objects`);
      });
      copied++;
      await terminal.result({ from: pair.from, to: pair.to, bytes: pair.bytes, sha256 }, `${pair.from} -> ${pair.to} (${formatBytes(pair.bytes)})`);
    }
  };
  const workers = Array.from({ length: concurrency }, worker);
  try {
    await Promise.all(workers);
  } catch (error) {
    // The first failure ends the others, and nothing is left half-written when the command returns.
    stop.abort(error);
    await Promise.allSettled(workers);
    throw error;
  }
}

async function pairsOf(storage: Storage, words: readonly string[], destination: string, recursive: boolean): Promise<Pair[]> {
  const targets = (await Promise.all(words.map((word) => targetsOf(storage, word)))).flat();
  const into = destination.endsWith("/") || targets.length > 1 || (await targetOf(storage, destination))?.kind === "directory";
  const pairs: Pair[] = [];
  for (const target of targets) {
    const to = into ? `${directoryPath(destination)}${StoragePath.parse(target.path).name}` : destination;
    if (target.kind === "file") pairs.push({ from: target.path, to, bytes: target.bytes });
    else if (!recursive) throw new MarinError("RIGGING_IS_DIRECTORY", `${target.path} is a directory: give -r to copy all below it.`, { data: { path: target.path } });
    else for await (const { path, bytes } of storage.list(target.path)) pairs.push({ from: path, to: `${directoryPath(to)}${path.slice(target.path.length)}`, bytes });
  }
  const seen = new Set<string>();
  for (const { to } of pairs) {
    if (seen.has(to)) throw new MarinError("RIGGING_EXISTS", `Two of the sources would become ${to}: copy them apart.`, { data: { path: to } });
    seen.add(to);
  }
  return pairs;
}

async function copyVerified(storage: Storage, { from, to }: Pair, options: { readonly ifAbsent: boolean; readonly signal: AbortSignal }, onBytes: (bytes: number) => void): Promise<string> {
  const { signal } = options;
  // The version holds the source still: an object that changes while it is read is an error.
  const version = (await storage.stat(from, { signal }))?.version;
  const hash = createHash("sha256");
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of storage.stream(from, { version, signal })) {
      hash.update(chunk);
      onBytes(chunk.byteLength);
      yield chunk;
    }
  }
  await storage.write(to, hashed(), options);
  const expected = hash.digest("hex");
  const found = await hashOf(storage, to, "sha256", signal, onBytes);
  if (found !== expected) {
    throw new MarinError("RIGGING_COPY_DIFFERS", `What was read back from ${to} is not what was copied from ${from}: it was changed in between, or the store lost bytes. Copy again with --force.`, { data: { from, to, expected, found } });
  }
  return expected;
}

/** The hash of an object's bytes, in hexadecimal. */
export async function hashOf(storage: Storage, path: string, algorithm: string, signal: AbortSignal, onBytes: (bytes: number) => void): Promise<string> {
  const hash = createHash(algorithm);
  for await (const chunk of storage.stream(path, { signal })) {
    hash.update(chunk);
    onBytes(chunk.byteLength);
  }
  return hash.digest("hex");
}
