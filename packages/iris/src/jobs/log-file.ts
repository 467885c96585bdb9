import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { fileError } from "../platform.js";
import type { LogLine } from "./job-status.js";

/**
 * A job's log on disk: one JSON object a line. Each line is with the operating system before the next event is taken, so that even a
 * controller that is killed loses none.
 */
export class LogFile {
  readonly #directory: string;
  /** Since the first line: many jobs may wait, and each open file counts. */
  #file: { readonly path: string; readonly descriptor: number } | undefined;
  #bytes = 0;

  /**
   * Makes the directory. The file is made with the first line: `log.jsonl`, or `log.2.jsonl` where an earlier client has left one.
   *
   * @param directory - where
   * @throws MarinError RIGGING_* when it cannot be made
   */
  constructor(directory: string) {
    this.#directory = directory;
    try {
      mkdirSync(directory, { recursive: true });
    } catch (error) {
      throw fileError(error, { action: "make the directory of the job's log", path: directory });
    }
  }

  /** Bytes written. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Adds a line.
   *
   * @throws MarinError RIGGING_* when it cannot be written
   */
  append(line: LogLine): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    try {
      this.#file ??= create(this.#directory);
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#file.descriptor, bytes, done);
    } catch (error) {
      throw fileError(error, { action: "write the job's log in", path: this.#directory });
    }
    this.#bytes += bytes.length;
  }

  /** Closes the file for writing. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file.descriptor);
  }

  /**
   * The lines from a byte offset to another; both at the beginning of lines.
   *
   * @param start - first byte
   * @param end - the byte after the last one
   */
  async *lines(start: number, end: number): AsyncGenerator<LogLine, void, void> {
    if (this.#file === undefined) return;
    const file = await open(this.#file.path, "r");
    try {
      const buffer = Buffer.allocUnsafe(64 * 1024);
      let rest: Buffer = Buffer.alloc(0);
      for (let offset = start; offset < end; ) {
        const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, end - offset), offset);
        if (bytesRead === 0) return;
        offset += bytesRead;
        rest = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
        for (let lineEnd = rest.indexOf(0x0a); lineEnd >= 0; lineEnd = rest.indexOf(0x0a)) {
          yield JSON.parse(rest.toString("utf8", 0, lineEnd)) as LogLine;
          rest = rest.subarray(lineEnd + 1);
        }
      }
    } finally {
      await file.close();
    }
  }
}

function create(directory: string): { readonly path: string; readonly descriptor: number } {
  for (let count = 1; ; count += 1) {
    const path = join(directory, count === 1 ? "log.jsonl" : `log.${String(count)}.jsonl`);
    try {
      return { path, descriptor: openSync(path, "ax") };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}
