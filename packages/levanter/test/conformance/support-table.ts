import * as tf from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { vi } from "vitest";
import { trace } from "../../src/engine/trace.js";
import type { OperationSpec } from "./operation-case.js";
import { functionOf, inputsOf, oracleOutputs, upstreamOf } from "./suite.js";

/** Random calls of an operation whose kernels are listed together: some take another way than others. */
const SAMPLED = 12;

/** Kernels of tfjs that an operation calls, as far as random calls show; with those of its gradient, or without. */
export function kernelsOf(operation: OperationSpec, withGradients: boolean): string[] {
  const reached = new Set<string>();
  const runKernel = vi.spyOn(tf.engine(), "runKernel");
  try {
    for (const testCase of fc.sample(operation.cases, { numRuns: SAMPLED, seed: 1 })) {
      const called = withGradients ? testCase : { ...testCase, gradients: [] };
      trace(operation.name, functionOf(called), inputsOf(called, upstreamOf(oracleOutputs(called, called.inputs))).specs);
    }
    for (const [kernel] of runKernel.mock.calls) reached.add(kernel);
  } finally {
    runKernel.mockRestore();
  }
  return [...reached].sort();
}
