/** Passes a text on piece by piece up to where one of the stop texts first appears; what may be the beginning of one is held back. */
export class StopFilter {
  readonly #stops: readonly string[];
  #held = "";
  #stopped = false;

  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  /** Whether a stop text appeared. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** The text that has become certain with the next piece. */
  pass(piece: string): string {
    if (this.#stopped) return "";
    const text = this.#held + piece;
    const at = Math.min(...this.#stops.map((stop) => text.indexOf(stop)).filter((index) => index >= 0));
    if (Number.isFinite(at)) {
      this.#stopped = true;
      this.#held = "";
      return text.slice(0, at);
    }
    const certain = text.length - this.#possibleBeginning(text);
    this.#held = text.slice(certain);
    return text.slice(0, certain);
  }

  /** What was held back, when no more text comes. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    return rest;
  }

  /** Length of the longest end of the text that a stop text begins with. */
  #possibleBeginning(text: string): number {
    const longest = Math.max(0, ...this.#stops.map((stop) => stop.length - 1));
    for (let length = Math.min(longest, text.length); length > 0; length--) {
      const end = text.slice(-length);
      if (this.#stops.some((stop) => stop.startsWith(end))) return length;
    }
    return 0;
  }
}
