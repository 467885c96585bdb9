import { mkdir, open, readFile, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { fileError } from "@marin/iris";
import { encodeSummaryEvent, encodeVersionEvent, stepOfEvent, type EventValue } from "./event-proto.js";
import { decodeRecords, encodeRecord } from "./event-records.js";
import type { TrackedMetrics, Tracker } from "./tracker.js";

/** Name of the one file in a tracker's directory. TensorBoard reads every file with `tfevents` in its name. */
const EVENT_FILE = "events.out.tfevents";

/** Settings of a {@link TensorBoardTracker}. */
export interface TensorBoardOptions {
  /** Directory of its file, created where it is missing. */
  readonly directory: string;
  /** The step that the run goes on from: events of later steps are removed, since they will be made again. 0 for a new run: the file starts anew. */
  readonly step: number;
  /** Milliseconds since 1970, which events carry. Default: the system's clock. */
  readonly now?: (() => number) | undefined;
}

/**
 * Writes measurements as scalars, options and summary as texts, into one event file that TensorBoard shows while training goes on:
 * `tensorboard --logdir <directory>`. Each step is in it once, also across crashes.
 */
export class TensorBoardTracker implements Tracker {
  readonly name = "tensorboard";
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #now: () => number;
  #lastStep: number;

  private constructor(file: FileHandle, path: string, now: () => number, lastStep: number) {
    this.#file = file;
    this.#path = path;
    this.#now = now;
    this.#lastStep = lastStep;
  }

  /** Opens the file. File errors are those of `fileError` (`RIGGING_DISK_FULL`, ...). */
  static async open({ directory, step, now = Date.now }: TensorBoardOptions): Promise<TensorBoardTracker> {
    const path = join(directory, EVENT_FILE);
    try {
      await mkdir(directory, { recursive: true });
      const kept = step === 0 ? 0 : await lengthUpTo(path, step);
      const file = await open(path, "a");
      const tracker = new TensorBoardTracker(file, path, now, step);
      // Steps ascend in the file, so what is to be forgotten is its end.
      await file.truncate(kept);
      if (kept === 0) await tracker.#append(encodeVersionEvent(tracker.#seconds));
      return tracker;
    } catch (error) {
      throw fileError(error, { action: "write", path });
    }
  }

  async log(step: number, metrics: TrackedMetrics): Promise<void> {
    this.#lastStep = step;
    await this.#write(step, Object.entries(metrics).map(([tag, scalar]) => ({ tag, scalar })));
  }

  async logHyperparameters(values: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#write(0, [{ tag: "hyperparameters", text: markdown(values) }]);
  }

  async logSummary(values: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#write(this.#lastStep, [{ tag: "summary", text: markdown(values) }]);
  }

  async finish(): Promise<void> {
    await this.#file.close();
  }

  async #write(step: number, values: readonly EventValue[]): Promise<void> {
    await this.#append(encodeSummaryEvent(this.#seconds, step, values));
  }

  async #append(event: Uint8Array): Promise<void> {
    await this.#file.appendFile(encodeRecord(event)).catch((error: unknown) => {
      throw fileError(error, { action: "write", path: this.#path });
    });
  }

  get #seconds(): number {
    return this.#now() / 1000;
  }
}

/** Bytes of the file's whole records up to and with those of `step`. */
async function lengthUpTo(path: string, step: number): Promise<number> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Uint8Array();
    throw error;
  });
  let length = 0;
  for (const { data, end } of decodeRecords(bytes)) {
    if (stepOfEvent(data) > step) break;
    length = end;
  }
  return length;
}

/** A table of two columns, as TensorBoard's text plugin renders it. */
function markdown(values: Readonly<Record<string, unknown>>): string {
  const cell = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value)).replaceAll("|", "\\|");
  const rows = Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`| ${name} | ${cell(value)} |`]));
  return ["| name | value |", "|---|---|", ...rows].join("\n");
}
