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
  /** The file; `log.2.jsonl` where an earlier client has left a `log.jsonl`. */
  readonly path: string;
  readonly #descriptor: number;
  #bytes = 0;

  /**
   * Makes the file, and the directory as needed.
   *
   * @param directory - where
   */
  constructor(directory: string) {
    try {
      mkdirSync(directory, { recursive: true });
      [this.path, this.#descriptor] = create(directory);
    } catch (error) {
      throw fileError(error, { action: "write the job's log in", path: directory });
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
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#descriptor, bytes, done);
    } catch (error) {
      throw fileError(error, { action: "write the job's log", path: this.path });
    }
    this.#bytes += bytes.length;
  }

  /** Closes the file for writing. */
  close(): void {
    closeSync(this.#descriptor);
  }

  /**
   * The lines from a byte offset to another; both at the beginning of lines.
   *
   * @param start - first byte
   * @param end - the byte after the last one
   */
  async *lines(start: number, end: number): AsyncGenerator<LogLine, void, void> {
    const file = await open(this.path, "r");
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

function create(directory: string): [string, number] {
  for (let count = 1; ; count += 1) {
    const path = join(directory, count === 1 ? "log.jsonl" : `log.${String(count)}.jsonl`);
    try {
      return [path, openSync(path, "ax")];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}
