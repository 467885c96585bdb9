import { closeSync, existsSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type LogLevel, fileError, makeDirectorySync } from "../platform.js";
import type { LogLine } from "./job-status.js";

/** A line and where it comes from. */
export interface LineEntry {
  readonly line: LogLine;
  /** The attempt's uid, and the number of the report that brought the line; "" and 0 for iris's own lines. */
  readonly attemptUid: string;
  readonly seq: number;
}

/** Where a log is kept. */
export interface LineLogPlace {
  /** A file of its own, continued where an earlier process has left it. */
  readonly path?: string;
  /** Or a directory in which a new file is made with the first line: `log.jsonl`, or `log.2.jsonl` where there is one. */
  readonly directory?: string;
}

/** What to read. */
export interface LineQuery {
  /** Number of the first line. Default 0. */
  readonly from?: number | undefined;
  /** Only the last lines of what there is now. Default all. */
  readonly tail?: number | undefined;
  /** Leaves out lines that matter less. Default "debug": none. */
  readonly minLevel?: LogLevel | undefined;
  /** Lines of that task only. Default all. */
  readonly taskIndex?: number | undefined;
  /** Whether to wait for more until the log's end. Default false. */
  readonly follow?: boolean | undefined;
  /** Ends the reading with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Lines, and the number of the line behind them: those that were left out count. */
export interface LineBatch {
  readonly lines: readonly LogLine[];
  readonly next: number;
}

interface Held {
  readonly line: LogLine;
  readonly bytes: number;
}

const rank: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Lines between two known places of the file, and in one batch. */
const blockLines = 256;

/** Held in memory where there is no file: that many lines, and bytes of them. */
const heldAlone = { lines: 20_000, bytes: 16 * 2 ** 20 };

/** Held in memory beside a file, for those who follow. */
const heldBeside = { lines: 4 * blockLines, bytes: 2 ** 20 };

/** A job's log: its lines in the order of their arrival, numbered from 0. Lines of one attempt that come again are dropped. */
export class LineLog {
  readonly #place: LineLogPlace;
  #path: string | undefined;
  #descriptor: number | undefined;
  /** Byte offset of every `blockLines`-th line of the file. */
  readonly #blocks: number[] = [];
  #fileLines = 0;
  #fileBytes = 0;
  #failure: Error | undefined;
  #held: Held[] = [];
  #heldBytes = 0;
  #count = 0;
  readonly #lastSeq = new Map<string, number>();
  #ended = false;
  #wake: (() => void)[] = [];

  /**
   * @param place - where it is kept. Default: the latest 20,000 lines or 16 MiB, in memory
   * @throws MarinError RIGGING_* when its directory cannot be made or its file not be read
   */
  constructor(place: LineLogPlace = {}) {
    this.#place = place;
    this.#path = place.path;
    const directory = place.directory ?? (place.path === undefined ? undefined : dirname(place.path));
    if (directory === undefined) return;
    try {
      makeDirectorySync(directory);
      if (place.path !== undefined) this.#recover(place.path);
    } catch (error) {
      throw fileError(error, { action: "open the job's log in", path: directory });
    }
  }

  /** Lines so far. */
  get count(): number {
    return this.#count;
  }

  /** Number of the last report of an attempt whose line is here; 0 for none. */
  lastSeq(attemptUid: string): number {
    return this.#lastSeq.get(attemptUid) ?? 0;
  }

  /**
   * Adds lines; with a file they are with the operating system when this returns. Where the disk refuses, the log goes on in memory and says so.
   *
   * @returns those that are new
   */
  append(entries: readonly LineEntry[]): LogLine[] {
    const fresh = entries.filter(({ attemptUid, seq }) => {
      if (seq === 0) return true;
      if (seq <= this.lastSeq(attemptUid)) return false;
      this.#lastSeq.set(attemptUid, seq);
      return true;
    });
    if (fresh.length === 0) return [];
    const failed = this.#write(fresh);
    const lines = fresh.map(({ line }) => line);
    if (failed !== undefined) lines.unshift({ ...(lines[0] as LogLine), level: "error", source: "iris", message: `the log is no longer written to disk: ${failed.message}` });
    for (const line of lines) this.#hold(line);
    this.#notify();
    return lines;
  }

  /** Says that there will be no more lines. */
  end(): void {
    this.#ended = true;
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
    this.#notify();
  }

  /**
   * The lines, in batches.
   *
   * @throws what the disk answers; the signal's reason
   */
  async *read({ from = 0, tail, minLevel = "debug", taskIndex, follow = false, signal }: LineQuery = {}): AsyncGenerator<LineBatch, void, void> {
    const wanted = (line: LogLine): boolean => rank[line.level] >= rank[minLevel] && (taskIndex === undefined || line.taskIndex === taskIndex);
    const upTo = this.#count;
    let next = Math.min(from, upTo);
    if (tail !== undefined) {
      const last = await this.#last(next, upTo, tail, wanted);
      next = upTo;
      yield { lines: last, next };
    }
    for (;;) {
      signal?.throwIfAborted();
      if (next < (follow ? this.#count : upTo)) {
        const lines = await this.#block(next);
        // A reader that comes too late is told so, in a line that has no number.
        const missed = lines.start - next;
        next = lines.start + lines.lines.length;
        const chosen = lines.lines.filter(wanted);
        if (missed > 0) chosen.unshift(missedLine(missed));
        yield { lines: chosen, next };
      } else if (!follow || this.#ended) {
        return;
      } else {
        await this.#changed(signal);
      }
    }
  }

  async #last(from: number, upTo: number, tail: number, wanted: (line: LogLine) => boolean): Promise<LogLine[]> {
    let found: LogLine[] = [];
    for (let end = upTo; end > from && found.length < tail; ) {
      const start = Math.max(from, end - blockLines);
      const lines: LogLine[] = [];
      for (let next = start; next < end; ) {
        const block = await this.#block(next);
        lines.push(...block.lines.slice(0, Math.max(0, end - block.start)));
        next = block.start + block.lines.length;
      }
      found = [...lines.filter(wanted), ...found];
      end = start;
    }
    return tail === 0 ? [] : found.slice(-tail);
  }

  /** The lines from a number on, as many as are together; from the first one that is still held where that one is not. */
  async #block(from: number): Promise<{ readonly start: number; readonly lines: readonly LogLine[] }> {
    const firstHeld = this.#count - this.#held.length;
    if (from < firstHeld && from < this.#fileLines) return { start: from, lines: await this.#fromFile(from) };
    const start = Math.max(from, firstHeld);
    return { start, lines: this.#held.slice(start - firstHeld, start - firstHeld + blockLines).map(({ line }) => line) };
  }

  async #fromFile(from: number): Promise<LogLine[]> {
    const block = Math.floor(from / blockLines);
    const start = this.#blocks[block] ?? 0;
    const end = this.#blocks[block + 1] ?? this.#fileBytes;
    const file = await open(this.#path ?? "", "r");
    try {
      const bytes = Buffer.allocUnsafe(end - start);
      for (let done = 0; done < bytes.length; ) {
        const { bytesRead } = await file.read(bytes, done, bytes.length - done, start + done);
        if (bytesRead === 0) throw new Error(`the job's log ${this.#path ?? ""} is shorter than what was written to it`);
        done += bytesRead;
      }
      return bytes
        .toString("utf8", 0, bytes.length - 1)
        .split("\n")
        .slice(from - block * blockLines)
        .map((text) => parseLine(text).line);
    } finally {
      await file.close();
    }
  }

  /** @returns why the disk refused, the first time that it did */
  #write(entries: readonly LineEntry[]): Error | undefined {
    if (this.#failure !== undefined || (this.#place.path === undefined && this.#place.directory === undefined)) return undefined;
    const texts = entries.map(({ line, attemptUid, seq }) => Buffer.from(`${JSON.stringify(seq === 0 ? line : { ...line, attemptUid, seq })}\n`));
    const bytes = Buffer.concat(texts);
    try {
      this.#descriptor ??= this.#openFile();
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#descriptor, bytes, done);
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      return this.#failure;
    }
    for (const text of texts) {
      if (this.#fileLines % blockLines === 0) this.#blocks.push(this.#fileBytes);
      this.#fileLines += 1;
      this.#fileBytes += text.length;
    }
    return undefined;
  }

  #openFile(): number {
    if (this.#path !== undefined) return openSync(this.#path, "a", 0o600);
    for (let count = 1; ; count += 1) {
      const path = join(this.#place.directory ?? "", count === 1 ? "log.jsonl" : `log.${String(count)}.jsonl`);
      try {
        const descriptor = openSync(path, "ax", 0o600);
        this.#path = path;
        return descriptor;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  }

  /** Takes over what an earlier process has written. A line that it did not finish is cut off. */
  #recover(path: string): void {
    // It is made with the first line.
    if (!existsSync(path)) return;
    const descriptor = openSync(path, "r+");
    try {
      const chunk = Buffer.allocUnsafe(2 ** 20);
      let rest: Buffer = Buffer.alloc(0);
      for (let bytesRead = readSync(descriptor, chunk, 0, chunk.length, 0); bytesRead > 0; bytesRead = readSync(descriptor, chunk, 0, chunk.length, this.#fileBytes + rest.length)) {
        const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
        let at = 0;
        for (let end = bytes.indexOf(0x0a, at); end >= 0; end = bytes.indexOf(0x0a, at)) {
          const { attemptUid, seq } = parseLine(bytes.toString("utf8", at, end));
          if (seq > this.lastSeq(attemptUid)) this.#lastSeq.set(attemptUid, seq);
          if (this.#fileLines % blockLines === 0) this.#blocks.push(this.#fileBytes);
          this.#fileLines += 1;
          this.#fileBytes += end + 1 - at;
          at = end + 1;
        }
        rest = bytes.subarray(at);
      }
      if (rest.length > 0) ftruncateSync(descriptor, this.#fileBytes);
      this.#count = this.#fileLines;
    } finally {
      closeSync(descriptor);
    }
  }

  #hold(line: LogLine): void {
    this.#count += 1;
    const bytes = 200 + 2 * line.message.length;
    this.#held.push({ line, bytes });
    this.#heldBytes += bytes;
    const limit = this.#fileLines === this.#count ? heldBeside : heldAlone;
    if (this.#held.length <= limit.lines && this.#heldBytes <= limit.bytes) return;
    // To three quarters, so that cutting the array costs little per line.
    let drop = 0;
    while (this.#held.length - drop > limit.lines * 0.75 || (this.#heldBytes > limit.bytes * 0.75 && drop < this.#held.length - 1)) {
      this.#heldBytes -= this.#held[drop]?.bytes ?? 0;
      drop += 1;
    }
    this.#held = this.#held.slice(drop);
  }

  #changed(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const wake = (): void => {
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      signal?.addEventListener("abort", wake, { once: true });
      this.#wake.push(wake);
    });
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const each of wake) each();
  }
}

function parseLine(text: string): LineEntry {
  const { attemptUid = "", seq = 0, ...line } = JSON.parse(text) as LogLine & { readonly attemptUid?: string; readonly seq?: number };
  return { line, attemptUid, seq };
}

function missedLine(count: number): LogLine {
  const message = `${String(count)} earlier lines are no longer held in memory; give the client a directory to keep whole logs`;
  return { time: new Date().toISOString(), level: "warn", source: "iris", taskIndex: 0, attempt: 0, message };
}
