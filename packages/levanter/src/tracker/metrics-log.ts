import { open, readFile, type FileHandle } from "node:fs/promises";
import { fileError, writeFileAtomic } from "@marin/iris";

/** One line of a metrics file: JSON values of one step. */
export interface MetricsRow {
  /** The step just finished, from 1. */
  readonly step: number;
  readonly [name: string]: unknown;
}

/** A JSON Lines file of metrics with at most one line a step, steps ascending, across restarts. */
export class MetricsLog {
  readonly #path: string;
  #rows: MetricsRow[];
  #file: FileHandle;

  private constructor(path: string, rows: MetricsRow[], file: FileHandle) {
    this.#path = path;
    this.#rows = rows;
    this.#file = file;
  }

  /**
   * Opens the file for a run that goes on after `step`: lines of later steps, which will be made again, and a line cut short by a crash are
   * removed. File errors as `writeFileAtomic` throws them.
   */
  static async open(path: string, step: number): Promise<MetricsLog> {
    const text = await readFile(path, "utf8").catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
      throw fileError(error, { action: "read", path });
    });
    const rows = text.split("\n").flatMap((line) => parseRow(line) ?? []).filter((row) => row.step <= step);
    const kept = encode(rows);
    if (kept !== text) await writeFileAtomic(path, kept);
    return new MetricsLog(path, rows.slice(-1), await append(path));
  }

  /** The last line. */
  get last(): MetricsRow | undefined {
    return this.#rows.at(-1);
  }

  /** Appends a line. */
  async append(row: MetricsRow): Promise<void> {
    await this.#file.appendFile(encode([row])).catch((error: unknown) => {
      throw fileError(error, { action: "write", path: this.#path });
    });
    this.#rows = [row];
  }

  /** Puts `row` in the place of the last line, which is of the same step, or appends it where there is none. */
  async amend(row: MetricsRow): Promise<void> {
    if (this.last?.step !== row.step) return this.append(row);
    await this.#file.close();
    const text = await readFile(this.#path, "utf8").catch((error: unknown) => {
      throw fileError(error, { action: "read", path: this.#path });
    });
    const lines = text.split("\n").slice(0, -2);
    await writeFileAtomic(this.#path, [...lines, encode([row])].join("\n"));
    this.#file = await append(this.#path);
    this.#rows = [row];
  }

  /** Flushes to the disk. */
  async sync(): Promise<void> {
    await this.#file.sync().catch((error: unknown) => {
      throw fileError(error, { action: "write", path: this.#path });
    });
  }

  /** Closes the file. */
  async close(): Promise<void> {
    await this.#file.close();
  }
}

function encode(rows: readonly MetricsRow[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

function parseRow(line: string): MetricsRow | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "step" in value && typeof value.step === "number" ? (value as MetricsRow) : undefined;
  } catch {
    return undefined;
  }
}

async function append(path: string): Promise<FileHandle> {
  return open(path, "a").catch((error: unknown) => {
    throw fileError(error, { action: "write", path });
  });
}
