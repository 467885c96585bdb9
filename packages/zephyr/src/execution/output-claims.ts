import { createHash } from "node:crypto";
import { MarinError, removeDeadTemporaries, removeOwnTemporaries, type Storage, StoragePath } from "@marin/iris";
import { isLocal } from "../readers/chunks.js";
import { readState } from "./state-file.js";
import { existingOutput, type WriteSpec, type WrittenFile } from "../writers/write-spec.js";

/** Directory of what is known of the outputs beside it. */
const claims = ".zephyr";

/** What is known of how an output file was made. */
interface Claim {
  readonly format: 1;
  /** Of the shard that makes it. */
  readonly fingerprint: string;
  /** Whether it was finished. Until then another file may be at its path. */
  readonly finished: boolean;
  readonly records?: number | undefined;
}

/** An output file, and what makes it. */
export interface ClaimedOutput {
  readonly write: WriteSpec;
  readonly path: string;
  readonly fingerprint: string;
}

/** What becomes of an output's path: written, written over, left as it is, or refused. */
export type OutputState =
  | { readonly kind: "new" | "replace" }
  | { readonly kind: "skip"; readonly file: WrittenFile }
  | { readonly kind: "changed"; readonly why: string };

/** What executing would do with an output. Changes nothing. */
export async function outputState({ write, path, fingerprint }: ClaimedOutput, storage: Storage): Promise<OutputState> {
  const existing = await existingOutput(write, path, { storage });
  if (existing === undefined) return { kind: "new" };
  if (!write.skipExisting) return { kind: "replace" };
  const claim = await readClaim(claimPath(path), storage);
  if (claim === "damaged") return { kind: "changed", why: `what is known of it, ${claimPath(path)}, is damaged` };
  if (claim === undefined) return { kind: "changed", why: "nothing is known of what made it (only executions with skipExisting keep that)" };
  if (claim.fingerprint !== fingerprint) return { kind: "changed", why: "another plan has made it: an operation, a function, its arguments or the input has changed" };
  return claim.finished ? { kind: "skip", file: { ...existing, records: claim.records } } : { kind: "replace" };
}

/**
 * With `skipExisting`: the output when it was made by the same shard of the same plan. Otherwise claims its path for this one.
 *
 * @throws MarinError ZEPHYR_PLAN_CHANGED when something else is at the path
 */
export async function claimOutput(output: ClaimedOutput, storage: Storage): Promise<WrittenFile | undefined> {
  const { write, path, fingerprint } = output;
  if (!write.skipExisting) {
    await storage.remove(claimPath(path));
    return undefined;
  }
  const state = await outputState(output, storage);
  if (state.kind === "skip") return state.file;
  if (state.kind === "changed") {
    throw new MarinError("ZEPHYR_PLAN_CHANGED", `${path} is there and cannot be skipped: ${state.why}. Remove it, write to other names, or leave skipExisting out to replace it.`, { data: { path } });
  }
  await writeClaim(claimPath(path), { format: 1, fingerprint, finished: false }, storage);
  return undefined;
}

/** With `skipExisting`: says that the output is finished. */
export async function finishClaim({ write, path, fingerprint }: ClaimedOutput, { records }: WrittenFile, storage: Storage): Promise<void> {
  if (write.skipExisting) await writeClaim(claimPath(path), { format: 1, fingerprint, finished: true, records }, storage);
}

/** Removes what writers that were killed have left beside outputs on this machine's disk. */
export async function sweepOutputs(paths: readonly string[]): Promise<void> {
  const directories = new Set(paths.flatMap((path) => {
    const { scheme, parent } = StoragePath.parse(path);
    return scheme === "" ? [String(parent), String(parent.join(claims))] : [];
  }));
  for (const directory of directories) await removeDeadTemporaries(directory);
}

/** Removes what an attempt at an output has left that has failed, perhaps with its worker. */
export async function sweepAttempt(path: string): Promise<void> {
  if (isLocal(path)) await removeOwnTemporaries(path);
  await sweepOutputs([path]);
}

/** Beside the outputs, in a directory that listings pass over. */
function claimPath(output: string): string {
  const path = StoragePath.parse(output);
  const name = path.name.length > 100 ? createHash("sha256").update(path.name).digest("hex") : path.name;
  return String(path.parent.join(claims, `${name}.json`));
}

async function readClaim(path: string, storage: Storage): Promise<Claim | "damaged" | undefined> {
  if ((await storage.stat(path)) === undefined) return undefined;
  return (await readState<Claim>(path, storage, ["fingerprint", "finished"])) ?? "damaged";
}

function writeClaim(path: string, claim: Claim, storage: Storage): Promise<void> {
  return storage.write(path, JSON.stringify(claim));
}
