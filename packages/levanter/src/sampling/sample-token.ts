import { MarinError } from "@marin/iris";
import { integerBelow } from "../rng/distributions.js";
import type { RandomKey } from "../rng/random-key.js";

/** How a token is drawn from logits. */
export interface SamplingOptions {
  /** Logits are divided by it; 0 takes the likeliest token. */
  readonly temperature: number;
  /** Only the `topK` likeliest tokens can be drawn; 0: all. Tokens as likely as the last of them stay too. */
  readonly topK: number;
  /**
   * Only the likeliest tokens that together have at least this probability can be drawn (Holtzman et al. 2020), after `topK`; 1, the default: all.
   * Tokens as likely as the last of them stay too.
   */
  readonly topP?: number;
}

/**
 * Draws a token from logits, a pure function of the key. Of equally likely tokens temperature 0 takes the lowest. Throws `LEVANTER_NOT_FINITE` when
 * the logits hold NaN or +Infinity, or nothing above -Infinity.
 */
export function sampleToken(logits: Float32Array, { temperature, topK, topP = 1 }: SamplingOptions, key: RandomKey): number {
  const best = logits.reduce((max, value) => Math.max(max, value), -Infinity);
  if (!Number.isFinite(best)) {
    throw new MarinError("LEVANTER_NOT_FINITE", `the model's largest logit is ${String(best)}: its parameters are damaged or its training diverged; use an earlier checkpoint`, {
      data: { largest: best },
    });
  }
  if (temperature === 0) return logits.indexOf(best);
  const threshold = topK > 0 && topK < logits.length ? kthLargest(logits, topK) : -Infinity;
  const weights = Float64Array.from(logits, (value) => (value < threshold ? 0 : Math.exp((value - best) / temperature)));
  if (topP < 1) keepNucleus(weights, topP);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const draw = (integerBelow(key, 2 ** 52) / 2 ** 52) * total;
  let sum = 0;
  for (let token = 0; token < weights.length; token++) {
    sum += weights[token] ?? 0;
    if (draw < sum) return token;
  }
  // Rounding can leave the sum below the draw: the last token that could be drawn is meant.
  return weights.findLastIndex((weight) => weight > 0);
}

function kthLargest(values: Float32Array, k: number): number {
  return Float32Array.from(values).sort()[values.length - k] ?? -Infinity;
}

/** Sets to 0 the weights that the likeliest tokens of probability `topP` can do without. */
function keepNucleus(weights: Float64Array, topP: number): void {
  const descending = Float64Array.from(weights).sort().reverse();
  const enough = topP * descending.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  const least = descending.find((weight) => (sum += weight) >= enough) ?? 0;
  for (let token = 0; token < weights.length; token++) if ((weights[token] ?? 0) < least) weights[token] = 0;
}
