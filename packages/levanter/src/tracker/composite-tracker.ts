import type { Logger } from "@marin/iris";
import type { TrackedMetrics, Tracker } from "./tracker.js";

/**
 * Several trackers as one. Training does not depend on them: where one fails, the others go on, the first failure is a warning, and the end of the
 * run says how often it failed.
 */
export class CompositeTracker implements Tracker {
  readonly name: string;
  readonly #trackers: readonly Tracker[];
  readonly #log: Logger | undefined;
  readonly #failures = new Map<Tracker, number>();

  constructor(trackers: readonly Tracker[], log?: Logger) {
    this.name = trackers.map(({ name }) => name).join(", ");
    this.#trackers = trackers;
    this.#log = log;
  }

  async log(step: number, metrics: TrackedMetrics): Promise<void> {
    await this.#each(`log step ${String(step)}`, (tracker) => tracker.log(step, metrics));
  }

  async logHyperparameters(values: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#each("log the options", (tracker) => tracker.logHyperparameters(values));
  }

  async logSummary(values: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#each("log the summary", (tracker) => tracker.logSummary(values));
  }

  async finish(): Promise<void> {
    await this.#each("finish", (tracker) => tracker.finish());
    for (const [{ name }, count] of this.#failures) {
      if (count > 1) this.#log?.warn(`the tracker "${name}" failed ${String(count)} times; what it was given then is missing there`);
    }
  }

  async #each(what: string, call: (tracker: Tracker) => void | Promise<void>): Promise<void> {
    for (const tracker of this.#trackers) {
      try {
        await call(tracker);
      } catch (error) {
        const count = (this.#failures.get(tracker) ?? 0) + 1;
        this.#failures.set(tracker, count);
        if (count === 1) this.#log?.warn(`the tracker "${tracker.name}" could not ${what}; training goes on without it`, { error });
      }
    }
  }
}
