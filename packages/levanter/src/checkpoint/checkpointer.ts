import { resolve, dirname } from "node:path";
import type { Logger } from "@marin/iris";
import type { Engine } from "../engine/types.js";
import { DEFAULT_FILE_BYTES } from "./files-of-groups.js";
import { requireJson, requireSameRun, type JsonValue, type RunIdentity } from "./metadata.js";
import { readCheckpoint } from "./read-checkpoint.js";
import { decideSave, requirePolicies, type PermanentPolicy, type SaveKind } from "./save-policy.js";
import { checkpointPath, newestCheckpoint, promoteCheckpoint, pruneCheckpoints, type StoredCheckpoint } from "./stored-checkpoints.js";
import { snapshotBytesOf, takeSnapshot, writeCheckpoint, type CheckpointGroups, type Snapshot } from "./write-checkpoint.js";

/** What a checkpoint of a step holds. */
export interface CheckpointContent {
  /** Updates made so far. */
  readonly step: number;
  /** Tensors by group: `parameters`, moments, an average. */
  readonly groups: CheckpointGroups;
  /** What else the run goes on from: the skip rule's history, hooks due. No times: equal runs write equal checkpoints. */
  readonly state: JsonValue;
}

/** A checkpoint that was made. */
export interface SavedCheckpoint {
  /** Updates made up to it. */
  readonly step: number;
  readonly directory: string;
  /** Whether it goes when a later one is there. */
  readonly temporary: boolean;
}

/** A checkpoint that is being written. */
export interface SaveReport extends SavedCheckpoint {
  /** Host memory that the copy takes until it is written, in bytes; 0 where a checkpoint on the disk only became permanent. */
  readonly snapshotBytes: number;
  /** Seconds that training waited: for the write before, and for the copy. */
  readonly blockedSeconds: number;
}

/** Where checkpoints lie, and when they are made. */
export interface CheckpointerOptions {
  /** Directory of this run's permanent checkpoints, made when needed. */
  readonly directory: string;
  /** Directory of this run's temporary ones; may be on another disk. Default: `directory`. */
  readonly temporaryDirectory?: string | undefined;
  /** When permanent ones are made, beside the end of the run. Default: never. */
  readonly permanentEvery?: readonly PermanentPolicy[] | undefined;
  /** Seconds after the last save at which a temporary one is made; 0: never. Default: 900. */
  readonly saveIntervalSeconds?: number | undefined;
  /** Newest temporary ones kept until a permanent one ends them all, at least 1. Default: 1. */
  readonly keepTemporary?: number | undefined;
  /** Newest permanent ones kept, at least 1. Default: all. */
  readonly keepPermanent?: number | undefined;
  /** Bytes of tensors in one file, at most, where no single tensor has more. Default: 1 GiB. */
  readonly maxFileBytes?: number | undefined;
  /** What the run's numbers depend on; a checkpoint of another run is not restored. */
  readonly identity: RunIdentity;
  /** Whose fingerprint is recorded, and compared on resume. */
  readonly engine: Pick<Engine, "fingerprint">;
  /** Milliseconds that only increase. Default: `performance.now`. */
  readonly clock?: (() => number) | undefined;
  /** Takes the warning about another engine. */
  readonly log?: Logger | undefined;
  /** Called when a checkpoint is going to be made, before its copy is taken: whatever must not be older than the checkpoint is flushed here. */
  readonly beforeSave?: ((step: number) => Promise<void>) | undefined;
}

/**
 * Makes a run's checkpoints and finds them again. A checkpoint is a copy of the state in host memory, taken between two steps, and then written by
 * another thread while training goes on: at most one write is under way. It appears on the disk whole or not at all.
 */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  readonly #clock: () => number;
  readonly #roots: readonly string[];
  #requested = false;
  /** The last checkpoint that is on the disk. */
  #saved: SavedCheckpoint | undefined;
  /** The last one made or being made, and when. */
  #last: { readonly step: number; readonly at: number; readonly temporary: boolean };
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  private constructor(options: CheckpointerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? ((): number => performance.now());
    this.#roots = [...new Set([resolve(options.directory), resolve(options.temporaryDirectory ?? options.directory)])];
    this.#last = { step: 0, at: this.#clock(), temporary: false };
  }

  /** Throws `LEVANTER_CONFIG` for policies that don't follow each other. Nothing is read or written yet. */
  static open(options: CheckpointerOptions): Promise<Checkpointer> {
    return Promise.resolve().then(() => {
      requirePolicies(options.permanentEvery ?? []);
      return new Checkpointer(options);
    });
  }

  /** The last checkpoint that is on the disk: restored or written. */
  get saved(): SavedCheckpoint | undefined {
    return this.#saved;
  }

  /**
   * The newest checkpoint of the run, wherever it lies; undefined when there is none.
   *
   * @throws MarinError LEVANTER_CHECKPOINT_CORRUPT, LEVANTER_CHECKPOINT_VERSION: an older one is never taken silently
   */
  newest(): Promise<StoredCheckpoint | undefined> {
    return newestCheckpoint(this.#roots);
  }

  /**
   * Fills the buffers of `groups` from a checkpoint, its digests checked, and returns its state. Then removes checkpoints that it has made superfluous.
   *
   * @throws MarinError LEVANTER_CHECKPOINT_MISMATCH when it is another run's; LEVANTER_CHECKPOINT_CORRUPT when a file is not as it was written: the
   * buffers are void then
   */
  async restore({ directory, metadata }: StoredCheckpoint, { groups }: Pick<CheckpointContent, "groups">): Promise<JsonValue> {
    const { identity, engine, log } = this.#options;
    requireSameRun(directory, metadata.run, identity);
    if (metadata.engine !== engine.fingerprint) {
      log?.warn(`${directory} was written by "${metadata.engine}", this is "${engine.fingerprint}": the run goes on, but its numbers may differ in the last bits`);
    }
    await readCheckpoint(directory, metadata, groups);
    const { step, temporary } = metadata;
    this.#saved = { step, directory, temporary };
    this.#last = { step, at: this.#clock(), temporary };
    await this.#prune();
    return metadata.state;
  }

  /** Has the next step saved, temporarily unless a permanent checkpoint is due. */
  request(): void {
    this.#requested = true;
  }

  /**
   * To be called after every step: decides whether it is saved, and takes the copy. The checkpoint is on the disk after `settle`, or before the next one.
   *
   * @param options - `force`: the end of the run, saved permanently
   * @returns what is being written; undefined when nothing is due
   * @throws what made the write before fail, such as RIGGING_DISK_FULL; the checkpoint before that one is intact
   */
  async afterStep(content: CheckpointContent, { force = false }: { readonly force?: boolean } = {}): Promise<SaveReport | undefined> {
    this.#throwFailure();
    const { step } = content;
    const kind = this.#decide(step, force);
    if (kind === undefined) return undefined;
    const started = performance.now();
    await this.settle();
    this.#requested = false;
    const report = (target: SavedCheckpoint, snapshotBytes: number): SaveReport => ({ ...target, snapshotBytes, blockedSeconds: (performance.now() - started) / 1000 });
    const saved = this.#saved;
    if (saved?.step === step && saved.temporary && dirname(saved.directory) === this.#roots[0]) return report(await this.#promote(saved), 0);
    await this.#options.beforeSave?.(step);
    const temporary = kind === "temporary";
    const root = (temporary ? this.#options.temporaryDirectory : undefined) ?? this.#options.directory;
    const target = { step, directory: checkpointPath(resolve(root), step), temporary };
    const state = requireJson(content.state);
    const snapshot = await takeSnapshot(content.groups);
    this.#start(target, state, snapshot);
    return report(target, snapshotBytesOf(content.groups));
  }

  /** Waits for the write under way. Throws what made it fail, once. */
  async settle(): Promise<void> {
    await this.#writing;
    this.#throwFailure();
  }

  #decide(step: number, forced: boolean): SaveKind | undefined {
    const { permanentEvery = [], saveIntervalSeconds = 900 } = this.#options;
    const last = this.#last;
    if (forced && step === last.step && !last.temporary) return undefined;
    const elapsedSeconds = (this.#clock() - last.at) / 1000;
    // What is due by time alone waits until the write before has ended, rather than making the training wait.
    const interval = this.#writing === undefined ? saveIntervalSeconds : 0;
    return decideSave(permanentEvery, interval, { step, savedStep: last.step, elapsedSeconds, requested: this.#requested, forced });
  }

  #start(target: SavedCheckpoint, state: JsonValue, snapshot: Snapshot): void {
    const before = this.#last;
    this.#last = { step: target.step, at: this.#clock(), temporary: target.temporary };
    this.#writing = this.#write(target, state, snapshot)
      .catch((error: unknown) => {
        this.#failure = { error };
        if (this.#saved !== target) this.#last = before;
      })
      .finally(() => {
        this.#writing = undefined;
      });
  }

  async #write(target: SavedCheckpoint, state: JsonValue, snapshot: Snapshot): Promise<void> {
    const { identity, engine, maxFileBytes = DEFAULT_FILE_BYTES } = this.#options;
    const { step, temporary } = target;
    await writeCheckpoint(target.directory, snapshot, { step, temporary, engine: engine.fingerprint, run: identity, state }, maxFileBytes);
    this.#saved = target;
    await this.#prune();
  }

  async #promote({ step, directory }: SavedCheckpoint): Promise<SavedCheckpoint> {
    await promoteCheckpoint(directory);
    const promoted = { step, directory, temporary: false };
    this.#saved = promoted;
    this.#last = { ...this.#last, temporary: false };
    await this.#prune();
    return promoted;
  }

  #prune(): Promise<void> {
    const { keepTemporary = 1, keepPermanent } = this.#options;
    return pruneCheckpoints(this.#roots, { keepTemporary, keepPermanent });
  }

  #throwFailure(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error as Error;
  }
}
