/** What the cases run: functions and actors that show what happens to them. */
import { MarinError } from "@marin/ducky";
import { actorRestore, actorSnapshot } from "../actors/hooks.js";
import { currentCall } from "../shared.js";

/** Adds. */
export function add(a: number, b: number): number {
  return a + b;
}

/** Gives back what it gets. */
export function echo(value: unknown): unknown {
  return value;
}

/** Throws an error with a code, data and a cause. */
export function fail(message: string): never {
  throw new MarinError("TEST_FAILED", message, { data: { n: 7 }, cause: new TypeError("inner") });
}

/** Ends only when it is told to. */
export async function untilAborted(): Promise<string> {
  const signal = currentCall()?.signal;
  await new Promise((resolve) => signal?.addEventListener("abort", resolve));
  return "ended";
}

/** Ends the process or thread it runs in. */
export function leave(): never {
  process.exit(3);
}

/** What `Probe` restarts with. */
interface ProbeState {
  readonly value: number;
  readonly runs: readonly string[];
}

/** An actor that tells what happened to it. */
export class Probe {
  readonly #start: number;
  #value: number;
  #runs: string[] = [];
  #atWork = 0;
  #most = 0;
  #release: (() => void)[] = [];
  #made = 0;
  #closed = 0;

  constructor(start = 0) {
    if (start < 0) throw new RangeError("start must not be negative");
    this.#start = start;
    this.#value = start;
  }

  [actorSnapshot](): ProbeState {
    return { value: this.#value, runs: this.#runs };
  }

  [actorRestore]({ value, runs }: ProbeState): void {
    this.#value = value;
    this.#runs = [...runs];
  }

  add(n: number): number {
    this.#runs.push(`add ${n}`);
    this.#value += n;
    return this.#value;
  }

  get(): { value: number; start: number; runs: readonly string[] } {
    return { value: this.#value, start: this.#start, runs: this.#runs };
  }

  echo(value: unknown): unknown {
    return value;
  }

  fail(message: string): never {
    fail(message);
  }

  /** At work until `release`; gives how many were at most. */
  async hold(): Promise<number> {
    this.#atWork += 1;
    this.#most = Math.max(this.#most, this.#atWork);
    await new Promise<void>((resolve) => this.#release.push(resolve));
    this.#atWork -= 1;
    return this.#most;
  }

  atWork(): number {
    return this.#atWork;
  }

  release(): void {
    for (const each of this.#release.splice(0)) each();
  }

  async untilAborted(): Promise<string> {
    this.#runs.push("untilAborted begins");
    await untilAborted();
    this.#runs.push("untilAborted ends");
    return "ended";
  }

  /** Counts up; `made` and `closed` tell how far it got. */
  async *count(to: number): AsyncGenerator<number> {
    try {
      for (let n = 0; n < to; n += 1) {
        this.#made = n + 1;
        yield n;
      }
    } finally {
      this.#closed += 1;
    }
  }

  *countTwice(to: number): Generator<{ n: number }> {
    for (let n = 0; n < to; n += 1) yield { n: 2 * n };
  }

  async *failAfter(items: number): AsyncGenerator<number> {
    yield* this.count(items);
    fail("after the items");
  }

  made(): number {
    return this.#made;
  }

  closed(): number {
    return this.#closed;
  }

  place(): { name: string; index: number; size: number; incarnation: number } | undefined {
    return currentCall()?.actor;
  }

  /** Whether the call seen after some turns of the event loop is the one at the beginning. */
  async sameCall(turns: number): Promise<boolean> {
    const before = currentCall();
    for (let turn = 0; turn < turns; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (currentCall() !== before || before === undefined) return false;
    }
    return true;
  }

  /** The total, once for each of its callers: fills the bytes. */
  fill(bytes: Uint8Array, value: number): Uint8Array {
    return bytes.fill(value);
  }
}

/** An actor whose second one of a group cannot be made. */
export class SecondFails {
  constructor() {
    if (currentCall()?.actor?.index === 1) throw new RangeError("not the second one");
  }

  get(): number {
    return 1;
  }
}
