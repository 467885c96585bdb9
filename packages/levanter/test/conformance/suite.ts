import * as tf from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Engine, EngineBuffer, Specs, TensorData, TensorFunction } from "../../src/engine/types.js";
import { sizeOf, type Array64 } from "./array64.js";
import type { OperationCase, OperationSpec } from "./operation-case.js";
import { OPERATIONS } from "./operations.js";

/** What runs, and how often. */
export interface ConformanceOptions {
  /** Random programs an operation. */
  readonly runs: number;
  /** Random calls in one program. */
  readonly calls: number;
  readonly seed: number;
  /** False: what differs is only written down, not a failed test. Default: true. */
  readonly required?: boolean;
  /** Allowed beyond what float32 explains, by operation, absolute. Default: nothing. */
  readonly tolerances?: Readonly<Record<string, number>>;
  /** The operations to run. Default: all. */
  readonly only?: (operation: OperationSpec) => boolean;
}

/** How an operation fared: nothing where it agrees, else what is wrong with its values, or with its gradient alone. */
export interface Finding {
  readonly values?: string;
  readonly gradient?: string;
}

/** How far a gradient's oracle moves an input to measure the slope there. */
const STEP = 1e-5;

/** The operation's case as a function from `i0`, `i1`, ... and `dy0`, ... to `y0`, ... and `d0`, ... */
export function functionOf(testCase: OperationCase, prefix = ""): TensorFunction {
  return (given) => {
    const inputs = testCase.inputs.map((_input, index) => given[`${prefix}i${index}`] as tf.Tensor);
    const results: Record<string, tf.Tensor> = {};
    const outputs = [testCase.apply(...inputs)].flat() as tf.Tensor[];
    outputs.forEach((output, index) => { results[`${prefix}y${index}`] = output; });
    if (testCase.gradients.length === 0) return results;
    const weighted = (...moving: tf.Tensor[]): tf.Tensor => {
      const replaced = inputs.slice();
      testCase.gradients.forEach((place, index) => { replaced[place] = moving[index] as tf.Tensor; });
      const terms = ([testCase.apply(...replaced)].flat() as tf.Tensor[]).map((output, index) => tf.sum(tf.mul(output, given[`${prefix}dy${index}`] as tf.Tensor)));
      return terms.reduce((sum, term) => tf.add(sum, term));
    };
    const gradients = tf.grads(weighted)(testCase.gradients.map((place) => inputs[place] as tf.Tensor));
    testCase.gradients.forEach((place, index) => { results[`${prefix}d${place}`] = gradients[index] as tf.Tensor; });
    return results;
  };
}

/** Weights of the outputs in the sum whose gradient is taken. */
export function upstreamOf(outputs: readonly Array64[]): Array64[] {
  return outputs.map(({ shape }, output) => ({ shape, data: Array.from({ length: sizeOf(shape) }, (_unused, index) => Math.fround(Math.sin(1 + index * 1.7 + output))) }));
}

/** What the oracle gives for inputs. */
export function oracleOutputs(testCase: OperationCase, inputs: readonly Array64[]): Array64[] {
  return [testCase.oracle(...inputs)].flat() as Array64[];
}

/** The slope of the weighted outputs at every element of an input, by central differences of the float64 oracle. */
function oracleGradient(testCase: OperationCase, place: number, upstream: readonly Array64[]): Array64 {
  const input = testCase.inputs[place] as Array64;
  const weighted = (data: readonly number[]): number => {
    const moved = testCase.inputs.map((other, index) => (index === place ? { shape: input.shape, data } : other));
    return oracleOutputs(testCase, moved).reduce((sum, output, index) => sum + output.data.reduce((part, value, at) => part + value * (upstream[index]?.data[at] as number), 0), 0);
  };
  const data = input.data.map((value, index) => {
    const moved = (by: number): number => weighted(input.data.map((own, at) => (at === index ? value + by : own)));
    const step = STEP * Math.max(1, Math.abs(value));
    return (moved(step) - moved(-step)) / (2 * step);
  });
  return { shape: input.shape, data };
}

const ARRAYS = { float32: Float32Array, int32: Int32Array, bool: Uint8Array };

/** Inputs of a case, and weights of its outputs, by the names that `functionOf` takes. */
export function inputsOf(testCase: OperationCase, upstream: readonly Array64[], prefix = ""): { specs: Specs; data: Record<string, TensorData> } {
  const specs: Record<string, Specs[string]> = {};
  const data: Record<string, TensorData> = {};
  testCase.inputs.forEach(({ shape, dtype, data: values }, index) => {
    specs[`${prefix}i${index}`] = { shape, dtype };
    data[`${prefix}i${index}`] = ARRAYS[dtype].from(values);
  });
  if (testCase.gradients.length === 0) return { specs, data };
  upstream.forEach(({ shape, data: values }, index) => {
    specs[`${prefix}dy${index}`] = { shape, dtype: "float32" };
    data[`${prefix}dy${index}`] = Float32Array.from(values);
  });
  return { specs, data };
}

/** Runs several cases in one program. */
export async function runCases(engine: Engine, name: string, cases: readonly OperationCase[], upstreams: readonly (readonly Array64[])[]): Promise<Record<string, TensorData>> {
  const parts = cases.map((testCase, index) => inputsOf(testCase, upstreams[index] ?? [], `${index}.`));
  const specs: Specs = Object.assign({}, ...parts.map((part) => part.specs)) as Specs;
  const fn: TensorFunction = (given) => Object.assign({}, ...cases.map((testCase, index) => functionOf(testCase, `${index}.`)(given))) as Record<string, tf.Tensor>;
  const program = await engine.compile(name, fn, specs);
  const [read, written] = [engine.allocate(specs), engine.allocate(program.outputs)];
  try {
    for (const part of parts) for (const [key, values] of Object.entries(part.data)) (read.buffers[key] as EngineBuffer).write(values);
    await program.run(read.buffers, written.buffers);
    const results: Record<string, TensorData> = {};
    for (const [key, buffer] of Object.entries(written.buffers)) results[key] = await buffer.read();
    return results;
  } finally {
    program.dispose();
    read.release();
    written.release();
  }
}

/** The first place where values differ by more than float32 explains; `undefined` when there is none. */
function difference(found: ArrayLike<number> | undefined, expected: Array64, scale: number, tolerance: number): string | undefined {
  if (found === undefined) return "is missing";
  if (found.length !== expected.data.length) return `has ${found.length} elements, not ${expected.data.length}`;
  const largest = expected.data.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);
  for (const [index, want] of expected.data.entries()) {
    const own = found[index] as number;
    if (Object.is(own, want) || own === want) continue;
    if (!(Math.abs(own - want) <= scale * (tolerance + 1e-6 + 2e-6 * largest + 2e-5 * Math.abs(want)))) return `is ${own} at ${index}, not ${want}`;
  }
  return undefined;
}

/** Fails where an engine's results differ from the oracle's. */
async function check(engine: Engine, operation: OperationSpec, cases: readonly OperationCase[], tolerance: number): Promise<void> {
  const outputs = cases.map((testCase) => oracleOutputs(testCase, testCase.inputs));
  const upstreams = outputs.map(upstreamOf);
  const found = await runCases(engine, operation.name, cases, upstreams);
  cases.forEach((testCase, index) => {
    const described = `${operation.name} ${testCase.label} of ${testCase.inputs.map(({ shape, data }) => `[${shape.join(",")}] ${data.slice(0, 8).join(" ")}`).join(" and ")}`;
    (outputs[index] ?? []).forEach((expected, output) => {
      const wrong = difference(found[`${index}.y${output}`], expected, 1, tolerance);
      if (wrong !== undefined) expect.fail(`${described}: output ${output} ${wrong}`);
    });
    for (const place of testCase.gradients) {
      const wrong = difference(found[`${index}.d${place}`], oracleGradient(testCase, place, upstreams[index] ?? []), 5, tolerance);
      if (wrong !== undefined) expect.fail(`${described}: gradient of input ${place} ${wrong}`);
    }
  });
}

/** What is wrong with an operation on an engine over random calls. */
async function findingOf(engine: Engine, operation: OperationSpec, { runs, calls, seed, tolerances = {} }: ConformanceOptions): Promise<Finding> {
  const failure = async (cases: fc.Arbitrary<OperationCase>): Promise<string | undefined> => {
    const property = fc.asyncProperty(fc.array(cases, { minLength: calls, maxLength: calls }), (drawn) => check(engine, operation, drawn, tolerances[operation.name] ?? 0));
    const { failed, errorInstance } = await fc.check(property, { numRuns: runs, seed, endOnFailure: true });
    if (!failed) return undefined;
    return errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  };
  const whole = await failure(operation.cases);
  if (whole === undefined) return {};
  const values = await failure(operation.cases.map((testCase) => ({ ...testCase, gradients: [] })));
  return values === undefined ? { gradient: whole } : { values };
}

/**
 * Declares a test for each operation: an engine agrees with the float64 oracles, values and gradients, on random shapes and values.
 *
 * @returns what was found by operation, filled in as the tests run
 */
export function describeConformance(name: string, create: () => Promise<Engine>, options: ConformanceOptions): ReadonlyMap<string, Finding> {
  const findings = new Map<string, Finding>();
  describe(`operations on ${name} agree with float64`, () => {
    let engine: Engine;
    beforeAll(async () => {
      engine = await create();
    });
    afterAll(() => engine.dispose());

    it.each(OPERATIONS.filter(options.only ?? (() => true)).map((operation) => [operation.name, operation] as const))("%s", async (operationName, operation) => {
      const finding = await findingOf(engine, operation, options);
      findings.set(operationName, finding);
      if (options.required ?? true) expect(finding).toEqual({});
    });
  });
  return findings;
}
