import { workerData, type MessagePort } from "node:worker_threads";
import { currentCall } from "@marin/fray";

/** Actors that tests create. */
export class Counter {
  #value: number;
  readonly #log: string[] = [];

  constructor(start: number) {
    if (start < 0) throw new RangeError("start must not be negative");
    this.#value = start;
  }

  async add(n: number, turns = 0): Promise<number> {
    this.#log.push(`begin ${n}`);
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    this.#value += n;
    this.#log.push(`end ${n}`);
    return this.#value;
  }

  get(): number {
    return this.#value;
  }

  log(): string[] {
    return this.#log;
  }

  async *upTo(limit: number): AsyncGenerator<number> {
    try {
      for (let n = 0; n < limit; n += 1) yield n + this.#value;
    } finally {
      this.#log.push("stream closed");
    }
  }

  async untilAborted(): Promise<void> {
    const signal = currentCall()?.signal;
    await new Promise((resolve) => signal?.addEventListener("abort", resolve));
    this.#log.push(`aborted: ${(signal?.reason as Error).message}`);
  }

  fail(): never {
    throw Object.assign(new Error("as told"), { code: "ETOLD" });
  }

  die(): void {
    process.kill(process.pid, "SIGKILL");
  }

  exit(): void {
    process.exit(9);
  }
}

/** Loses the way to its callers, as a message that cannot be read does. */
export class Unreachable {
  here(): boolean {
    return true;
  }

  cut(): void {
    (workerData as { readonly actorPort: MessagePort }).actorPort.close();
  }
}

export async function makeGreeter(greeting: string): Promise<{ greet(name: string): string }> {
  return Promise.resolve({ greet: (name) => `${greeting}, ${name}` });
}

export class Thenable {
  then(): number {
    return 1;
  }
}

export function makeNothing(): number {
  return 5;
}
