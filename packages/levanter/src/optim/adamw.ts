import * as tf from "@tensorflow/tfjs-core";
import type { TensorFunction } from "../engine/types.js";

/** Groups that {@link adamW} works on: parameters, gradients, first and second moments. */
export const ADAMW_GROUPS = ["parameters", "gradients", "firstMoments", "secondMoments"] as const;

/** Scalars that {@link adamW} takes, as {@link adamWScalars} computes them. */
export const ADAMW_SCALARS = ["beta1", "gradientFactor", "beta2", "squareFactor", "keep", "stepSize", "epsilon"] as const;

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

/** The scalars of one update, computed in float64: everything that is the same for all elements is folded into them. */
export function adamWScalars(step: AdamWStep): Record<(typeof ADAMW_SCALARS)[number], number> {
  const { update, learningRate, beta1, beta2, epsilon, weightDecay, gradientScale } = step;
  const correction2 = Math.sqrt(1 - beta2 ** update);
  return {
    beta1,
    gradientFactor: (1 - beta1) * gradientScale,
    beta2,
    squareFactor: (1 - beta2) * gradientScale ** 2,
    keep: 1 - learningRate * weightDecay,
    stepSize: (learningRate * correction2) / (1 - beta1 ** update),
    epsilon: epsilon * correction2,
  };
}

/**
 * One AdamW update (Loshchilov and Hutter: "Decoupled Weight Decay Regularization", 2019; as `torch.optim.AdamW` has it), element-wise, for the scaled
 * gradient g: m ← β1·m + (1-β1)·g, v ← β2·v + (1-β2)·g², p ← (1-lr·λ)·p - lr/(1-β1^t) · m / (√v/√(1-β2^t) + ε). The last term is computed as
 * lr·√(1-β2^t)/(1-β1^t) · m / (√v + ε·√(1-β2^t)), which is the same with fewer passes over memory. State in, state out.
 */
export const adamW: TensorFunction = (inputs) => {
  const input = (name: (typeof ADAMW_GROUPS)[number] | (typeof ADAMW_SCALARS)[number]): tf.Tensor => {
    const tensor = inputs[name];
    if (tensor === undefined) throw new TypeError(`adamW: input "${name}" is missing`);
    return tensor;
  };
  const gradients = input("gradients");
  const firstMoments = tf.add(tf.mul(input("firstMoments"), input("beta1")), tf.mul(gradients, input("gradientFactor")));
  const secondMoments = tf.add(tf.mul(input("secondMoments"), input("beta2")), tf.mul(tf.mul(gradients, gradients), input("squareFactor")));
  const change = tf.mul(tf.div(firstMoments, tf.add(tf.sqrt(secondMoments), input("epsilon"))), input("stepSize"));
  return { parameters: tf.sub(tf.mul(input("parameters"), input("keep")), change), firstMoments, secondMoments };
};
