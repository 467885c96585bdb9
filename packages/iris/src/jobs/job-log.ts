import type { LogLevel } from "../platform.js";
import { History } from "./history.js";
import type { JobEvent, LogLine } from "./job-status.js";
import { LogFile } from "./log-file.js";

/** What to read of a job's log. */
export interface LogOptions {
  /** Whether to wait for more lines until the job ends. Default false: what there is now. */
  readonly follow?: boolean;
  /** Only the last lines of what there is now, at most that many. Default all. */
  readonly tail?: number;
  /** Leaves out lines that matter less. Default "debug": all. */
  readonly minLevel?: LogLevel;
  /** Ends the reading, with its reason as the error. */
  readonly signal?: AbortSignal;
}

const rank: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Marks the end of what there was when the reading began. */
const caughtUp = Symbol("caught up");

/** The events of a job: the latest in memory, its log lines all on disk where there is a directory for them. */
export class JobLog {
  readonly #history = new History<JobEvent>();
  readonly #file: LogFile | undefined;
  /** Why the lines since then are in memory only. */
  #diskFailure: Error | undefined;

  /** @param directory - where the log's file is made. Default none: in memory only */
  constructor(directory?: string) {
    this.#file = directory === undefined ? undefined : new LogFile(directory);
  }

  /** Adds an event. */
  push(event: JobEvent): void {
    if (event.type !== "log") {
      this.#history.push(event, event.type === "state" ? 200 + 100 * event.status.tasks.length : 200);
      return;
    }
    const { line } = event;
    if (this.#file !== undefined && this.#diskFailure === undefined) {
      try {
        this.#file.append(line);
      } catch (error) {
        this.#diskFailure = error instanceof Error ? error : new Error(String(error));
        this.push({ type: "log", line: { ...line, level: "error", source: "iris", message: `the log is no longer written to disk: ${this.#diskFailure.message}` } });
      }
    }
    this.#history.push(event, 200 + 2 * line.message.length);
  }

  /** Says that there are no more events. */
  end(): void {
    if (this.#history.ended) return;
    this.#file?.close();
    this.#history.end();
  }

  /** The events from the first one held until the job's end. Where some are no longer held, a log line says how many. */
  async *events(signal?: AbortSignal): AsyncGenerator<JobEvent, void, void> {
    for await (const item of this.#history.read(signal)) {
      if (item.kind === "event") yield item.event;
      else if (item.kind === "missed") yield { type: "log", line: missedLine(item.count) };
    }
  }

  /**
   * The job's log lines.
   *
   * @throws what the disk answered, when it fails while the lines are read from it
   */
  async *lines({ follow = false, tail, minLevel = "debug", signal }: LogOptions = {}): AsyncGenerator<LogLine, void, void> {
    const held: LogLine[] = [];
    let live = tail === undefined;
    const source = this.#file !== undefined && this.#diskFailure === undefined ? this.#fromFile(this.#file, signal) : this.#fromMemory(signal);
    for await (const line of source) {
      if (line === caughtUp) {
        yield* held;
        live = true;
        if (!follow) return;
      } else if (rank[line.level] < rank[minLevel]) {
        continue;
      } else if (live) {
        yield line;
      } else {
        held.push(line);
        if (held.length > (tail ?? 0)) held.shift();
      }
    }
  }

  async *#fromFile(file: LogFile, signal: AbortSignal | undefined): AsyncGenerator<LogLine | typeof caughtUp, void, void> {
    let offset = file.bytes;
    yield* file.lines(0, offset);
    yield caughtUp;
    for (;;) {
      signal?.throwIfAborted();
      const end = file.bytes;
      if (end > offset) {
        yield* file.lines(offset, end);
        offset = end;
      } else if (this.#diskFailure !== undefined) {
        throw this.#diskFailure;
      } else if (this.#history.ended) {
        return;
      } else {
        await this.#history.changed(signal);
      }
    }
  }

  async *#fromMemory(signal: AbortSignal | undefined): AsyncGenerator<LogLine | typeof caughtUp, void, void> {
    for await (const item of this.#history.read(signal)) {
      if (item.kind === "caught-up") yield caughtUp;
      else if (item.kind === "missed") yield missedLine(item.count);
      else if (item.event.type === "log") yield item.event.line;
    }
  }
}

function missedLine(count: number): LogLine {
  const message = `${String(count)} earlier events are no longer held in memory; give the client a directory to keep whole logs`;
  return { time: new Date().toISOString(), level: "warn", source: "iris", taskIndex: 0, attempt: 0, message };
}
