import { MarinError } from "@marin/iris";
import { z } from "zod";

/** When a step counts as bad. */
export interface SkipRuleOptions {
  /** Steps remembered, at least 2. Default: 128. */
  readonly rollingLength?: number | undefined;
  /** Standard deviations above the mean from which a value is an outlier. Default: 6. */
  readonly sigmaFactor?: number | undefined;
}

const stateSchema = z.strictObject({
  losses: z.array(z.number()),
  gradientNorms: z.array(z.number()),
  skipped: z.int().nonnegative(),
});

/** What a {@link SkipRule} remembers, as JSON; numbers survive it exactly. Values are in the order of their steps. */
export interface SkipRuleState {
  readonly losses: readonly number[];
  readonly gradientNorms: readonly number[];
  /** Steps skipped so far. */
  readonly skipped: number;
}

const SMALLEST_SIGMA = 1e-6;

/**
 * Tells bad steps, which leave parameters and moments as they are: the loss or the gradient's norm exceeds the mean of the last 128 by more than 6
 * standard deviations (not less than 1e-6 each), once half of that many steps are known. A skipped step's values enter the history all the same, so a
 * lasting change is accepted in time. Levanter's `skip_bad_steps`.
 */
export class SkipRule {
  readonly #rollingLength: number;
  readonly #sigmaFactor: number;
  #losses: readonly number[] = [];
  #gradientNorms: readonly number[] = [];
  #skipped = 0;

  /** Goes on from `state`, where it is given. Throws `LEVANTER_CONFIG` for a length below 2 and for a state that is none. */
  constructor({ rollingLength = 128, sigmaFactor = 6 }: SkipRuleOptions = {}, state?: unknown) {
    if (!Number.isInteger(rollingLength) || rollingLength < 2) {
      throw new MarinError("LEVANTER_CONFIG", `skipBadSteps.rollingLength must be an integer from 2, got ${String(rollingLength)}`, { data: { rollingLength } });
    }
    this.#rollingLength = rollingLength;
    this.#sigmaFactor = sigmaFactor;
    if (state === undefined) return;
    const parsed = stateSchema.safeParse(state);
    if (!parsed.success) {
      throw new MarinError("LEVANTER_CONFIG", "the history of skipped steps must be { losses, gradientNorms, skipped } as SkipRule.state gives it", { cause: parsed.error });
    }
    this.#losses = parsed.data.losses.slice(-rollingLength);
    this.#gradientNorms = parsed.data.gradientNorms.slice(-rollingLength);
    this.#skipped = parsed.data.skipped;
  }

  /** Steps skipped so far: the updates made are the steps less these. */
  get skipped(): number {
    return this.#skipped;
  }

  /** Everything to go on from, as JSON. */
  get state(): SkipRuleState {
    return { losses: this.#losses, gradientNorms: this.#gradientNorms, skipped: this.#skipped };
  }

  /** Judges a step and remembers it. Throws `RangeError` for values that are not finite: those are no outliers but the end of the run. */
  observe(loss: number, gradientNorm: number): { readonly skip: boolean } {
    if (!Number.isFinite(loss) || !Number.isFinite(gradientNorm)) {
      throw new RangeError(`loss and gradient norm must be finite, got ${String(loss)} and ${String(gradientNorm)}`);
    }
    const skip = this.#isOutlier(this.#losses, loss) || this.#isOutlier(this.#gradientNorms, gradientNorm);
    this.#losses = [...this.#losses, loss].slice(-this.#rollingLength);
    this.#gradientNorms = [...this.#gradientNorms, gradientNorm].slice(-this.#rollingLength);
    if (skip) this.#skipped += 1;
    return { skip };
  }

  #isOutlier(history: readonly number[], value: number): boolean {
    if (history.length < this.#rollingLength / 2) return false;
    const mean = history.reduce((sum, x) => sum + x, 0) / history.length;
    const variance = history.reduce((sum, x) => sum + (x - mean) ** 2, 0) / history.length;
    return value > mean + this.#sigmaFactor * Math.max(Math.sqrt(variance), SMALLEST_SIGMA);
  }
}
