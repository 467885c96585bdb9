import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";

import type { RunProvenance } from "@marin/finestore";
import { fileError, ownIdentity, writeFileAtomic, type ProcessIdentity } from "@marin/rigging";

/** What happened to one step in a run. */
export interface StepRecord {
  readonly step: string;
  /** Kind of the step: the name of its artifact in the store. */
  readonly name: string;
  readonly fingerprint: string;
  /** "failed" and "stopped": by an error of its own, or of another step or the user. */
  readonly state: "running" | "cached" | "finished" | "failed" | "stopped";
  readonly reason: string;
  /** Content digest of the artifact, once there is one. */
  readonly digest?: string;
  /** ISO 8601. */
  readonly startedAt?: string;
  readonly seconds?: number;
  /** The last value of each measurement that the step reported, throughput included. */
  readonly metrics?: Readonly<Record<string, number>>;
}

/** A run of an experiment, as it is kept beside the artifacts in `<prefix>/runs/<id>.json`. Nothing of it is in any artifact. */
export interface RunRecord {
  readonly formatVersion: 1;
  readonly id: string;
  readonly experiment: string;
  readonly options: unknown;
  /** A run that was killed stays "running"; `process` tells whether it is. */
  readonly state: "running" | "finished" | "failed" | "interrupted";
  readonly process: ProcessIdentity;
  /** Name of the cluster whose jobs the steps were; null: they ran in the command's process. */
  readonly cluster: string | null;
  readonly startedAt: string;
  readonly seconds: number;
  readonly provenance: RunProvenance;
  readonly machine: { readonly platform: string; readonly cpus: number; readonly nodeVersion: string };
  readonly steps: readonly StepRecord[];
  readonly error?: { readonly code: string; readonly message: string; readonly step?: string };
}

/** Keeps a run's record up to date on the disk. Writes follow each other; only the newest waits. */
export class RunRecorder {
  readonly path: string;
  readonly #directory: string;
  #record: RunRecord;
  #writing: Promise<void> = Promise.resolve();
  #waiting = false;

  constructor(prefix: string, start: Pick<RunRecord, "experiment" | "options" | "cluster" | "provenance">) {
    const startedAt = new Date().toISOString();
    const id = `${startedAt.replace(/[-:]|\..*/g, "").toLowerCase()}z-${start.experiment}-${randomBytes(3).toString("hex")}`;
    this.#directory = join(prefix, "runs");
    this.path = join(this.#directory, `${id}.json`);
    const machine = { platform: `${process.platform}-${process.arch}`, cpus: availableParallelism(), nodeVersion: process.version };
    this.#record = { formatVersion: 1, id, state: "running", process: ownIdentity(), startedAt, seconds: 0, machine, ...start, steps: [] };
  }

  get id(): string {
    return this.#record.id;
  }

  /** Adds a step, or changes what is recorded of it. */
  step(change: Partial<StepRecord> & Pick<StepRecord, "step">): void {
    const steps = [...this.#record.steps];
    const index = steps.findIndex(({ step }) => step === change.step);
    const before = steps[index];
    if (before === undefined) steps.push(change as StepRecord);
    else steps[index] = { ...before, ...change };
    this.#record = { ...this.#record, steps };
  }

  /** Changes the run itself. */
  run(change: Pick<RunRecord, "state" | "seconds"> & Pick<Partial<RunRecord>, "error">): void {
    this.#record = { ...this.#record, ...change };
  }

  /** Writes what is recorded; resolves when it is on the disk. */
  async save(): Promise<void> {
    if (!this.#waiting) {
      this.#waiting = true;
      this.#writing = this.#writing.then(() => this.#write());
    }
    await this.#writing;
  }

  async #write(): Promise<void> {
    this.#waiting = false;
    try {
      await mkdir(this.#directory, { recursive: true });
      await writeFileAtomic(this.path, `${JSON.stringify(this.#record, null, 2)}\n`);
    } catch (error) {
      throw fileError(error, { action: "write", path: this.path });
    }
  }
}
