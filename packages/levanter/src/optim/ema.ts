import * as tf from "@tensorflow/tfjs-core";
import type { TensorFunction } from "../engine/types.js";

/** Groups that {@link updateEma} works on: the average, and the parameters after their update. */
export const EMA_GROUPS = ["ema", "parameters"] as const;

/** Scalars that {@link updateEma} takes, as {@link emaScalars} computes them. */
export const EMA_SCALARS = ["share"] as const;

/** The scalars of one step of an average that keeps `beta` of itself, computed in float64. */
export function emaScalars(beta: number): Record<(typeof EMA_SCALARS)[number], number> {
  return { share: 1 - beta };
}

/**
 * One step of an exponential moving average, element-wise `{ ema, parameters }` to `{ ema }`: e ← e + (1-β)·(p - e), which is β·e + (1-β)·p and leaves an
 * average that has arrived exactly where it is. The average begins as the initial parameters.
 */
export const updateEma: TensorFunction = ({ ema, parameters, share }) => {
  if (ema === undefined || parameters === undefined || share === undefined) throw new TypeError("updateEma needs ema, parameters and share");
  return { ema: tf.add(ema, tf.mul(tf.sub(parameters, ema), share)) };
};
