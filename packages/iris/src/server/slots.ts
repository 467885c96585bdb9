import { MarinError } from "../platform.js";

/** How many of something may be under way at once. Nobody waits: who comes too many is told to come again. */
export class Slots {
  readonly #size: number;
  readonly #what: string;
  #taken = 0;

  /**
   * @param size - at once at most
   * @param what - for the message: "queries"
   */
  constructor(size: number, what: string) {
    this.#size = size;
    this.#what = what;
  }

  /**
   * Takes a place.
   *
   * @returns gives it back; harmless when called again
   * @throws MarinError IRIS_BUSY
   */
  take(): () => void {
    if (this.#taken >= this.#size) throw new MarinError("IRIS_BUSY", `${String(this.#taken)} ${this.#what} are under way: try again later.`, { data: { size: this.#size } });
    this.#taken += 1;
    let held = true;
    return () => {
      if (held) this.#taken -= 1;
      held = false;
    };
  }
}
