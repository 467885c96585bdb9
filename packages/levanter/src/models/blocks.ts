import type * as tf from "@tensorflow/tfjs-core";
import { recompute } from "../engine/ops/recompute.js";
import type { Specs } from "../engine/types.js";
import type { Parameters } from "./parameters.js";

/** A model's blocks, and what one of them does to the residual stream float32 [N,D]. */
export interface Blocks {
  /** Prefixes of their parameters' names, in order. */
  readonly names: readonly string[];
  /** All parameters of the model. */
  readonly parameters: Specs;
  /** True: the backward pass computes each block once more, instead of keeping what is inside of it. */
  readonly recompute: boolean;
  readonly apply: (stream: tf.Tensor, name: string, parameter: Parameters) => tf.Tensor;
}

/** The residual stream float32 [N,D] after all blocks. */
export function throughBlocks(stream: tf.Tensor, parameter: Parameters, { names, parameters, recompute: again, apply }: Blocks): tf.Tensor {
  if (!again) return names.reduce((x, name) => apply(x, name, parameter), stream);
  return names.reduce((x, name) => {
    const own = Object.keys(parameters).filter((candidate) => candidate.startsWith(`${name}.`));
    const block = recompute((input, ...weights: tf.Tensor[]) => {
      const given = new Map(own.map((candidate, index) => [candidate, weights[index] as tf.Tensor]));
      return apply(input, name, (wanted) => given.get(wanted) ?? parameter(wanted));
    });
    return block(x, ...own.map(parameter));
  }, stream);
}
