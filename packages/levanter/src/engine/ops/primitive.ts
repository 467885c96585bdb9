import * as tf from "@tensorflow/tfjs-core";
import { switchedOff, type Switch } from "../switches.js";

/**
 * Runs a kernel where the current tfjs backend has it, and the same computation composed of `tf.*` operations elsewhere.
 * The compiled engine has kernels that eager backends lack; the composition is their definition.
 */
export function primitive<T extends tf.Tensor | tf.Tensor[]>(
  kernel: Switch, inputs: Readonly<Record<string, tf.Tensor>>, attributes: Readonly<Record<string, number>>, composed: () => T,
): T {
  if (tf.getKernel(kernel, tf.getBackend()) === undefined || switchedOff().has(kernel)) return composed();
  return tf.engine().runKernel<T>(kernel, inputs, attributes);
}
