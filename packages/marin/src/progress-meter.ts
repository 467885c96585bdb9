import type { ProgressEvent } from "./events.js";
import type { StepProgress } from "./step.js";

const MIN_INTERVAL_MS = 1000;
/** Speed is taken over about this long, so that the estimate follows changes without jumping. */
const WINDOW_MS = 30_000;

/** Turns a step's reports into progress events: at most one a second, each with an estimate of the time left. */
export class ProgressMeter {
  readonly #step: string;
  readonly #emit: (event: ProgressEvent) => void;
  readonly #now: () => number;
  #samples: { time: number; done: number }[] = [];
  #emittedAt = -Infinity;
  #held: StepProgress | undefined;

  constructor(step: string, emit: (event: ProgressEvent) => void, now: () => number = () => performance.now()) {
    this.#step = step;
    this.#emit = emit;
    this.#now = now;
  }

  report(progress: StepProgress): void {
    const time = this.#now();
    const last = this.#samples.at(-1);
    // Another pass over the same or other units: earlier speed says nothing about it.
    if (this.#held !== undefined && (this.#held.unit !== progress.unit || (last?.done ?? 0) > progress.done)) this.#samples = [];
    this.#held = progress;
    if (time - this.#emittedAt < MIN_INTERVAL_MS && this.#samples.length > 0) return;
    this.#samples.push({ time, done: progress.done });
    while (this.#samples.length > 2 && time - (this.#samples[1]?.time ?? time) > WINDOW_MS) this.#samples.shift();
    this.#send(progress, time);
  }

  /** Emits the last report if it was held back. */
  flush(): void {
    if (this.#held !== undefined && this.#held.done !== this.#samples.at(-1)?.done) this.#send(this.#held, this.#now());
    this.#held = undefined;
  }

  #send(progress: StepProgress, time: number): void {
    this.#emittedAt = time;
    const secondsLeft = this.#secondsLeft(progress, time);
    this.#emit({ event: "progress", step: this.#step, ...progress, ...(secondsLeft === undefined ? {} : { secondsLeft }) });
  }

  #secondsLeft(progress: StepProgress, time: number): number | undefined {
    const first = this.#samples[0];
    if (first === undefined || progress.total === undefined || progress.done === progress.total) return undefined;
    if (progress.done <= first.done || time <= first.time) return undefined;
    const unitsPerSecond = ((progress.done - first.done) * 1000) / (time - first.time);
    return Math.round(((progress.total - progress.done) / unitsPerSecond) * 10) / 10;
  }
}
