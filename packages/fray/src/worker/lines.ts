import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** A line longer than this many characters is passed on in parts. */
const maxLineLength = 65_536;

/** Takes a line, or a part of a long one: `goesOn` where the next call has more of it. */
export type LineSink = (line: string, goesOn: boolean) => void;

/**
 * Calls back with each line of a stream, without its end (LF or CRLF); a last line without one comes when the stream ends.
 *
 * @param stream - bytes of UTF-8
 */
export function readLines(stream: Readable, onLine: LineSink): void {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const take = (text: string): void => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line.endsWith("\r") ? line.slice(0, -1) : line, false);
    while (rest.length > maxLineLength) {
      onLine(rest.slice(0, maxLineLength), true);
      rest = rest.slice(maxLineLength);
    }
  };
  const finish = (): void => {
    take(decoder.end());
    if (rest !== "") onLine(rest, false);
    rest = "";
  };
  stream.on("data", (chunk: Buffer) => {
    take(decoder.write(chunk));
  });
  stream.once("end", finish);
  stream.once("error", finish);
}

/** Keeps the last lines given to it. */
export class Tail {
  readonly #lines: string[] = [];
  readonly #limit = 40;

  add(line: string): void {
    this.#lines.push(line.length > 500 ? `${line.slice(0, 500)}...` : line);
    if (this.#lines.length > this.#limit) this.#lines.shift();
  }

  text(): string {
    return this.#lines.join("\n");
  }
}
