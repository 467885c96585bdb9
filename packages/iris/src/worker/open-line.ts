import type { Redactor } from "@marin/rigging";

/** Characters at the end of a part that wait for what follows: longer than any secret, in any form. */
const heldLength = 16_384;

/** How many places for a cut are tried, and how far apart they are: together about as long as what is held. */
const tries = 8;
const stepLength = 2_048;

/** Characters that are held at most, whatever they are. */
const maxHeld = 2 ** 18;

/** Joins the parts of a long line anew, so that no cut goes through a secret: its halves would be told from nothing else. */
export class OpenLine {
  readonly #redactor: Pick<Redactor, "redact">;
  #held = "";

  /** @param redactor - what it masks stays in one piece */
  constructor(redactor: Pick<Redactor, "redact">) {
    this.#redactor = redactor;
  }

  /**
   * Takes a part, and gives what may be shown.
   *
   * @param goesOn - whether more of the line follows
   */
  take(part: string, goesOn: boolean): string {
    const text = this.#held + part;
    const cut = goesOn ? this.#cut(text) : text.length;
    this.#held = text.slice(cut);
    return text.slice(0, cut);
  }

  /** Where both sides show, one by one, what they show together. */
  #cut(text: string): number {
    const whole = this.#redactor.redact(text);
    for (let tried = 0; tried < tries; tried += 1) {
      const place = text.length - heldLength - tried * stepLength;
      if (place <= 0) break;
      // Both halves of a surrogate pair stay together.
      const at = /[\uD800-\uDBFF]/.test(text.charAt(place - 1)) ? place - 1 : place;
      if (this.#redactor.redact(text.slice(0, at)) + this.#redactor.redact(text.slice(at)) === whole) return at;
    }
    // One secret from end to end, as a private key is: it stays together while it may still be one.
    return text.length <= maxHeld ? 0 : text.length;
  }
}
