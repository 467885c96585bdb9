/** An actor of the test of names. */
export class Tally {
  #total = 0;

  add(amount: number): number {
    this.#total += amount;
    return this.#total;
  }
}

/** A job of the test of names. */
export function double(value: number): number {
  return 2 * value;
}
