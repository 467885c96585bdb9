const WINDOW = 20;

/** What a step's time goes into. `loading`: waiting for the batch. */
export type StepPart = "loading" | "gradients" | "optimizer" | "hooks" | "evaluation" | "checkpoint";

interface FinishedStep {
  readonly tokens: number;
  readonly seconds: number;
}

/**
 * Measures the speed of the last steps, whatever happens between them, and what time is spent on.
 * A step runs from `start` to `stop`; hooks, evaluation and checkpoints come after it.
 */
export class StepClock {
  readonly #now: () => number;
  readonly #steps: FinishedStep[] = [];
  #parts = new Map<StepPart, number>();
  #started = 0;

  /** @param now - milliseconds from any moment on */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Starts a step: the time of its loading, gradients and optimizer is counted from 0, that of the other parts goes on. */
  start(): void {
    for (const part of ["loading", "gradients", "optimizer"] as const) this.#parts.delete(part);
    this.#started = this.#now();
  }

  /** Runs something and adds its time to a part, also when it fails. */
  async time<T>(part: StepPart, work: () => T | Promise<T>): Promise<T> {
    const started = this.#now();
    try {
      return await work();
    } finally {
      this.#parts.set(part, this.#secondsIn(part) + (this.#now() - started) / 1000);
    }
  }

  /** Ends the step, which has computed on `tokens` tokens. */
  stop(tokens: number): void {
    this.#steps.push({ tokens, seconds: (this.#now() - this.#started) / 1000 });
    if (this.#steps.length > WINDOW) this.#steps.shift();
  }

  /** Tokens a second over the last 20 steps. */
  get tokensPerSecond(): number {
    return sum(this.#steps, ({ tokens }) => tokens) / sum(this.#steps, ({ seconds }) => seconds);
  }

  /** Seconds that computing on `tokens` more tokens will take. */
  secondsFor(tokens: number): number {
    return tokens / this.tokensPerSecond;
  }

  /** Seconds of the last step, without waiting for its batch. */
  get duration(): number {
    return Math.max(0, (this.#steps.at(-1)?.seconds ?? 0) - this.#secondsIn("loading"));
  }

  /** Seconds by part, loading, gradients and optimizer of the last step, the others since the last call; their count starts anew. */
  takeParts(): Record<StepPart, number> {
    const seconds = (part: StepPart): number => this.#secondsIn(part);
    const taken = {
      loading: seconds("loading"), gradients: seconds("gradients"), optimizer: seconds("optimizer"),
      hooks: seconds("hooks"), evaluation: seconds("evaluation"), checkpoint: seconds("checkpoint"),
    };
    this.#parts = new Map([...this.#parts].filter(([part]) => part === "loading" || part === "gradients" || part === "optimizer"));
    return taken;
  }

  #secondsIn(part: StepPart): number {
    return this.#parts.get(part) ?? 0;
  }
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0);
}
