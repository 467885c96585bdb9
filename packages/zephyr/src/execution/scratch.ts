import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type DirectoryLock, isMarinError, lockDirectory, makeTemporaryDirectory, MarinError, removeDeadTemporaries, type Storage, StoragePath, type TemporaryDirectory } from "@marin/iris";
import type { StageReport } from "./options.js";
import type { ShardOutcome } from "./shard-task.js";
import { readScratchState } from "./state-file.js";

/** What a directory of hand-over files was made for. */
interface ScratchRecord {
  readonly format: 1;
  readonly fingerprint: string;
  /** The plan as text, to show what has changed. */
  readonly plan: string;
}

/** Which plan a scratch directory is opened for. */
export interface ScratchPlan {
  readonly fingerprint: () => Promise<string>;
  readonly text: () => string;
}

/**
 * The directory through which stages hand records over. Of each shard, `stage-<n>/<shard>.json` says that it is finished, and names the files of the
 * attempt that finished it: those of other attempts, which were interrupted or come late, are never looked at.
 */
export class Scratch implements AsyncDisposable {
  /** Names this execution, and keeps its attempts apart from those of earlier ones. */
  readonly run = randomBytes(6).toString("hex");
  readonly #directory: StoragePath;
  readonly #storage: Storage;
  /** What goes with this execution: a directory of its own, or its lock on the user's. */
  readonly #own: { readonly temporary: TemporaryDirectory } | { readonly lock: DirectoryLock | undefined };
  #attempts = 0;

  private constructor(directory: StoragePath, storage: Storage, own: { readonly temporary: TemporaryDirectory } | { readonly lock: DirectoryLock | undefined }) {
    this.#directory = directory;
    this.#storage = storage;
    this.#own = own;
  }

  /** A directory of its own, removed when it is disposed of; after `kill -9`, by the next execution. */
  static async temporary(storage: Storage): Promise<Scratch> {
    const temporary = await makeTemporaryDirectory("zephyr");
    return new Scratch(StoragePath.parse(temporary.path), storage, { temporary });
  }

  /**
   * The user's directory, which stays.
   *
   * @throws MarinError ZEPHYR_PLAN_CHANGED when it holds what another plan has left; ZEPHYR_BAD_SCRATCH when that is damaged; RIGGING_LOCKED when another process works in it
   */
  static async open(path: string, storage: Storage, plan: ScratchPlan): Promise<Scratch> {
    const parsed = StoragePath.parse(path);
    const local = parsed.scheme === "";
    const directory = local && !parsed.isAbsolute ? StoragePath.parse(join(process.cwd(), path)) : parsed;
    const lock = local ? await lockDirectory(String(directory)) : undefined;
    const scratch = new Scratch(directory, storage, { lock });
    try {
      await scratch.#claim({ format: 1, fingerprint: await plan.fingerprint(), plan: plan.text() });
    } catch (error) {
      await lock?.release();
      throw error;
    }
    return scratch;
  }

  /** Whether what is finished here is found again by a later execution. */
  get kept(): boolean {
    return !("temporary" in this.#own);
  }

  /** A name for one attempt at a shard, and what the paths of its files begin with. */
  attempt(stage: number, shard: number): { readonly attempt: string; readonly prefix: string } {
    const attempt = `${this.run}-${String(this.#attempts++)}`;
    return { attempt, prefix: `${String(this.#stage(stage).join(`${padded(shard)}-${attempt}`))}/` };
  }

  /**
   * Says that a shard is finished. Of attempts that finish the same shard the first one counts.
   *
   * @returns the outcome that counts: this one, unless another attempt has finished the shard before
   */
  async publish(outcome: ShardOutcome): Promise<ShardOutcome> {
    const path = this.#outcomePath(outcome.stage, outcome.shard);
    try {
      await this.#storage.write(path, JSON.stringify(outcome), { ifAbsent: true });
      return outcome;
    } catch (error) {
      if (!isMarinError(error, "RIGGING_EXISTS")) throw error;
      return this.#outcome(path);
    }
  }

  /** The shards of a stage that are finished. */
  async finished(stage: number): Promise<Map<number, ShardOutcome>> {
    const finished = new Map<number, ShardOutcome>();
    if (!this.kept) return finished;
    for await (const entry of this.#storage.listDirectory(`${String(this.#stage(stage))}/`)) {
      if (entry.kind !== "file" || !entry.path.endsWith(".json")) continue;
      const outcome = await this.#outcome(entry.path);
      finished.set(outcome.shard, outcome);
    }
    return finished;
  }

  /** Says that a shard is not finished after all. */
  async retract(stage: number, shard: number): Promise<void> {
    await this.#storage.remove(this.#outcomePath(stage, shard));
  }

  /** Removes what interrupted and late attempts at a stage's shards have left. */
  async removeStrays(stage: number, finished: Iterable<ShardOutcome>): Promise<void> {
    if (this.#directory.scheme === "") {
      await removeDeadTemporaries(String(this.#stage(stage)));
      await removeDeadTemporaries(String(this.#directory));
    }
    // What a shard has written lies elsewhere.
    const used = new Set([...finished].flatMap(({ shard, attempt, output }) => (output.kind === "write" ? [] : [`${padded(shard)}-${attempt}`])));
    for await (const entry of this.#storage.listDirectory(`${String(this.#stage(stage))}/`)) {
      if (entry.kind === "directory" && !used.has(StoragePath.parse(entry.path).name)) await this.#remove(StoragePath.parse(entry.path));
    }
  }

  /** Keeps what became of a stage for executions that find it finished. */
  async saveReport(report: StageReport): Promise<void> {
    if (this.kept) await this.#storage.write(this.#reportPath(report.stage), JSON.stringify(report));
  }

  /** What became of a stage that an earlier execution has run. */
  async report({ index, shards }: { readonly index: number; readonly shards: readonly unknown[] }): Promise<StageReport> {
    const saved = await readScratchState<StageReport>(this.#reportPath(index), String(this.#directory), this.#storage, ["stage", "name", "shards", "counters"]);
    return { ...saved, resumed: shards.length, skipped: 0, workerLosses: 0 };
  }

  /** Removes all of a stage: nobody reads it any more. */
  removeStage(stage: number): Promise<void> {
    return this.#remove(this.#stage(stage));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if ("temporary" in this.#own) await this.#own.temporary[Symbol.asyncDispose]();
    else await this.#own.lock?.release();
  }

  #stage(stage: number): StoragePath {
    return this.#directory.join(`stage-${padded(stage, 3)}`);
  }

  #outcomePath(stage: number, shard: number): string {
    return String(this.#stage(stage).join(`${padded(shard)}.json`));
  }

  #outcome(path: string): Promise<ShardOutcome> {
    return readScratchState<ShardOutcome>(path, String(this.#directory), this.#storage, ["stage", "shard", "attempt", "output", "counters"]);
  }

  #reportPath(stage: number): string {
    return String(this.#directory.join(`stage-${padded(stage, 3)}.json`));
  }

  async #claim(record: ScratchRecord): Promise<void> {
    const path = String(this.#directory.join("plan.json"));
    if ((await this.#storage.stat(path)) === undefined) {
      await this.#storage.write(path, `${JSON.stringify(record, null, 2)}\n`);
      return;
    }
    const before = await readScratchState<ScratchRecord>(path, String(this.#directory), this.#storage, ["fingerprint", "plan"]);
    if (before.fingerprint === record.fingerprint) return;
    throw new MarinError(
      "ZEPHYR_PLAN_CHANGED",
      `${String(this.#directory)} holds what another plan has left: ${firstDifference(before.plan, record.plan)} Use another scratch directory, or remove this one.`,
      { data: { scratch: String(this.#directory), found: before.fingerprint, expected: record.fingerprint } },
    );
  }

  async #remove(directory: StoragePath): Promise<void> {
    if (directory.scheme === "") {
      await rm(String(directory), { recursive: true, force: true });
      return;
    }
    const paths: string[] = [];
    for await (const { path } of this.#storage.list(`${String(directory)}/`)) paths.push(path);
    for (const path of paths) await this.#storage.remove(path);
  }
}

function padded(number: number, digits = 5): string {
  return String(number).padStart(digits, "0");
}

/** Where two plans differ, for people. */
export function firstDifference(before: string, now: string): string {
  const old = before.split("\n");
  const lines = now.split("\n");
  const place = lines.findIndex((line, index) => line !== old[index]);
  if (place === -1) return "the plan reads the same, but a function, its arguments, or what an input holds has changed.";
  return `it said "${(old[place] ?? "nothing").trim()}" where this one says "${(lines[place] ?? "").trim()}".`;
}
