import * as tf from "@tensorflow/tfjs-core";
import type { TensorFunction } from "../engine/types.js";

/** Groups that {@link adamW} works on: parameters, gradients, first and second moments. */
export const ADAMW_GROUPS = ["parameters", "gradients", "firstMoments", "secondMoments"] as const;

/** Scalars that {@link adamW} takes, as {@link adamWScalars} computes them. */
export const ADAMW_SCALARS = [
  "gradientScale",
  "beta1",
  "oneMinusBeta1",
  "beta2",
  "oneMinusBeta2",
  "keep",
  "stepSize",
  "inverseCorrection2",
  "epsilon",
] as const;

/** What one AdamW update depends on besides the tensors. */
export interface AdamWStep {
  /** Which update this is, from 1. */
  readonly update: number;
  readonly learningRate: number;
  /** Decay rate of the gradients' average. */
  readonly beta1: number;
  /** Decay rate of the squared gradients' average. */
  readonly beta2: number;
  /** Added to the root of the corrected second moment. */
  readonly epsilon: number;
  /** Decoupled weight decay, multiplied by the learning rate; 0 for parameters that are not decayed. */
  readonly weightDecay: number;
  /** Every gradient is multiplied by this first: the clip factor over the batch's total weight. */
  readonly gradientScale: number;
}

/** The scalars of one update, computed in float64. */
export function adamWScalars(step: AdamWStep): Record<(typeof ADAMW_SCALARS)[number], number> {
  const { update, learningRate, beta1, beta2, epsilon, weightDecay, gradientScale } = step;
  return {
    gradientScale,
    beta1,
    oneMinusBeta1: 1 - beta1,
    beta2,
    oneMinusBeta2: 1 - beta2,
    keep: 1 - learningRate * weightDecay,
    stepSize: learningRate / (1 - beta1 ** update),
    inverseCorrection2: 1 / Math.sqrt(1 - beta2 ** update),
    epsilon,
  };
}

/**
 * One AdamW update (Loshchilov and Hutter: "Decoupled Weight Decay Regularization", 2019; same arithmetic as `torch.optim.AdamW`), element-wise:
 * m ← β1·m + (1-β1)·g, v ← β2·v + (1-β2)·g², p ← (1-lr·λ)·p - lr/(1-β1^t) · m / (√v/√(1-β2^t) + ε). State in, state out.
 */
export const adamW: TensorFunction = (inputs) => {
  const input = (name: (typeof ADAMW_GROUPS)[number] | (typeof ADAMW_SCALARS)[number]): tf.Tensor => {
    const tensor = inputs[name];
    if (tensor === undefined) throw new TypeError(`adamW: input "${name}" is missing`);
    return tensor;
  };
  const gradients = tf.mul(input("gradients"), input("gradientScale"));
  const firstMoments = tf.add(tf.mul(input("firstMoments"), input("beta1")), tf.mul(gradients, input("oneMinusBeta1")));
  const secondMoments = tf.add(tf.mul(input("secondMoments"), input("beta2")), tf.mul(tf.mul(gradients, gradients), input("oneMinusBeta2")));
  const denominator = tf.add(tf.mul(tf.sqrt(secondMoments), input("inverseCorrection2")), input("epsilon"));
  const change = tf.mul(tf.div(firstMoments, denominator), input("stepSize"));
  return { parameters: tf.sub(tf.mul(input("parameters"), input("keep")), change), firstMoments, secondMoments };
};
