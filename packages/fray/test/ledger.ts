import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

/** An actor that writes down what it was asked to do, where its own end does not take it along. */
export class Ledger {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  async once(id: number): Promise<number> {
    await setTimeout(id % 5);
    appendFileSync(this.#file, `once ${id}\n`);
    await setTimeout(id % 3);
    return id;
  }

  async again(id: number): Promise<number> {
    await setTimeout(id % 4);
    appendFileSync(this.#file, `again ${id}\n`);
    await setTimeout(id % 6);
    return id;
  }

  async *items(count: number): AsyncGenerator<number> {
    for (let n = 0; n < count; n += 1) {
      if (n % 16 === 0) await setTimeout(1);
      yield n;
    }
  }
}
