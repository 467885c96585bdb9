/** A row whose quotes are not as they must be. */
export class Misquoted extends Error {}

/** Takes rows apart, line by line: a quoted field may hold line ends (RFC 4180). */
export class RowParser {
  readonly #delimiter: string;
  readonly #quote: string;
  #fields: string[] = [];
  /** What is known of a quoted field that is not closed yet. */
  #open: string | undefined;

  /**
   * @param delimiter - one character
   * @param quote - one character, or "" where quotes mean nothing
   */
  constructor(delimiter: string, quote: string) {
    this.#delimiter = delimiter;
    this.#quote = quote;
  }

  /** Begins a new row. */
  reset(): void {
    this.#fields = [];
    this.#open = undefined;
  }

  /**
   * Adds a line, without its line feed.
   *
   * @returns the fields of the row; undefined when a quoted field goes on in the next line
   * @throws Misquoted
   */
  add(line: string): readonly string[] | undefined {
    if (this.#open === undefined && (this.#quote === "" || !line.includes(this.#quote))) return withoutReturn(line).split(this.#delimiter);
    let at = 0;
    if (this.#open !== undefined) {
      this.#open += "\n";
      at = this.#readQuoted(line, 0);
      if (at === -1) return undefined;
      if (isEnd(line, at)) return this.#fields;
      at = this.#passDelimiter(line, at);
    }
    for (;;) {
      if (line[at] === this.#quote) {
        this.#open = "";
        at = this.#readQuoted(line, at + 1);
        if (at === -1) return undefined;
        if (isEnd(line, at)) return this.#fields;
        at = this.#passDelimiter(line, at);
        continue;
      }
      const next = line.indexOf(this.#delimiter, at);
      const field = next === -1 ? withoutReturn(line.slice(at)) : line.slice(at, next);
      if (field.includes(this.#quote)) throw new Misquoted(`a quote stands inside the field ${shown(field)}, which is not quoted`);
      this.#fields.push(field);
      if (next === -1) return this.#fields;
      at = next + 1;
    }
  }

  /** Reads on in a quoted field; returns the place behind its closing quote, or -1 when the line ends before. */
  #readQuoted(line: string, from: number): number {
    let at = from;
    for (;;) {
      const quote = line.indexOf(this.#quote, at);
      if (quote === -1) {
        this.#open += line.slice(at);
        return -1;
      }
      this.#open += line.slice(at, quote);
      if (line[quote + 1] !== this.#quote) {
        this.#fields.push(this.#open ?? "");
        this.#open = undefined;
        return quote + 1;
      }
      this.#open += this.#quote;
      at = quote + 2;
    }
  }

  #passDelimiter(line: string, at: number): number {
    if (line[at] === this.#delimiter) return at + 1;
    throw new Misquoted(`behind a quoted field stands ${shown(line.slice(at))}, and neither ${JSON.stringify(this.#delimiter)} nor the line's end`);
  }
}

function isEnd(line: string, at: number): boolean {
  return at === line.length || (at === line.length - 1 && line[at] === "\r");
}

function withoutReturn(text: string): string {
  return text.endsWith("\r") ? text.slice(0, -1) : text;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}...` : text);
}
