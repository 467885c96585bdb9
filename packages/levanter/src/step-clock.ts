const WINDOW = 20;

/** Measures the speed of the last steps, whatever happens between them. */
export class StepClock {
  readonly #tokensPerStep: number;
  readonly #seconds: number[] = [];
  #started = 0;

  constructor(tokensPerStep: number) {
    this.#tokensPerStep = tokensPerStep;
  }

  /** Starts a step. */
  start(): void {
    this.#started = performance.now();
  }

  /** Ends the step. */
  stop(): void {
    this.#seconds.push((performance.now() - this.#started) / 1000);
    if (this.#seconds.length > WINDOW) this.#seconds.shift();
  }

  /** Tokens a second over the last 20 steps. */
  get tokensPerSecond(): number {
    return this.#tokensPerStep / this.#mean;
  }

  /** Seconds that `steps` more steps will take. */
  secondsFor(steps: number): number {
    return steps * this.#mean;
  }

  get #mean(): number {
    return this.#seconds.reduce((sum, value) => sum + value, 0) / this.#seconds.length;
  }
}
