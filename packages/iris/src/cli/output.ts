import { escapeControls, redactor, toPlain } from "@marin/rigging";
import type { CliEnvironment } from "./environment.js";

/** Writes what a command says: for people, or as JSON lines. */
export class Output {
  /** Whether standard output carries JSON lines, and nothing else. */
  readonly json: boolean;
  readonly #environment: CliEnvironment;

  /**
   * @param environment - where to write
   * @param json - whether programs read it
   */
  constructor(environment: CliEnvironment, json: boolean) {
    this.#environment = environment;
    this.json = json;
  }

  /** An event for programs: one line of JSON, `{ "event": ..., ... }`, without secrets. Nothing for people. */
  event(event: string, data: object): void {
    if (this.json) this.#environment.stdout.write(`${JSON.stringify({ event, ...(toPlain(data, redactor) as object) })}\n`);
  }

  /** A line for people: the command's result. Nothing for programs. */
  line(text: string): void {
    if (!this.json) this.#environment.stdout.write(`${printable(text)}\n`);
  }

  /** A line on standard error, for people who read along, with and without JSON. */
  note(text: string): void {
    this.#environment.stderr.write(`${printable(text)}\n`);
  }

  /** Rows under headings, in columns. */
  table(headings: readonly string[], rows: readonly (readonly string[])[]): void {
    if (this.json) return;
    const cells = [headings, ...rows].map((row) => row.map((cell) => printable(cell).replaceAll(/[\n\t]/g, " ")));
    const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
    for (const row of cells) this.#environment.stdout.write(`${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()}\n`);
  }

  /** Clears a terminal. */
  clear(): void {
    if (!this.json && this.#environment.interactive) this.#environment.stdout.write("\u001b[2J\u001b[H");
  }
}

/** Text that came from jobs or controllers: without secrets, and without what drives a terminal. */
function printable(text: string): string {
  return escapeControls(redactor.redact(text), "\n\t");
}
