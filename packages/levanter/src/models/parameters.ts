import type * as tf from "@tensorflow/tfjs-core";
import { MarinError } from "@marin/iris";

/** A model's inputs by name. */
export type Parameters = (name: string) => tf.Tensor;

/**
 * Looks inputs of a model's function up.
 *
 * @throws MarinError `LEVANTER_MISSING_INPUT` naming the one that is missing
 */
export function lookup(inputs: Readonly<Record<string, tf.Tensor>>): Parameters {
  return (name) => {
    const tensor = inputs[name];
    if (tensor === undefined) throw new MarinError("LEVANTER_MISSING_INPUT", `the model's input "${name}" is missing`, { data: { name } });
    return tensor;
  };
}

/** The values times a factor, in place. */
export function scaled(values: Float32Array, factor: number): Float32Array {
  for (let index = 0; index < values.length; index++) values[index] = (values[index] as number) * factor;
  return values;
}
