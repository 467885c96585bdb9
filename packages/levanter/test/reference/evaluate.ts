import type { DType, Engine, EngineBuffer, Specs, TensorData, TensorFunction } from "../../src/engine/types.js";

/** A tensor of a test: the array's type is the element type. */
export interface HostTensor {
  readonly shape: readonly number[];
  readonly data: TensorData;
}

/** Compiles a function, runs it once, and gives its results by name. */
export async function evaluate(engine: Engine, fn: TensorFunction, inputs: Readonly<Record<string, HostTensor>>): Promise<Record<string, TensorData>> {
  const specs = specsOf(inputs);
  const program = await engine.compile("expression", fn, specs);
  const [read, written] = [engine.allocate(specs), engine.allocate(program.outputs)];
  for (const [name, { data }] of Object.entries(inputs)) (read.buffers[name] as EngineBuffer).write(data);
  await program.run(read.buffers, written.buffers);
  const results = Object.fromEntries(await Promise.all(Object.entries(written.buffers).map(async ([name, buffer]) => [name, await buffer.read()] as const)));
  program.dispose();
  read.release();
  written.release();
  return results;
}

/** Shapes and element types of a test's tensors. */
export function specsOf(inputs: Readonly<Record<string, HostTensor>>): Specs {
  return Object.fromEntries(Object.entries(inputs).map(([name, { shape, data }]) => [name, { shape, dtype: dtypeOf(data) }]));
}

function dtypeOf(data: TensorData): DType {
  if (data instanceof Float32Array) return "float32";
  return data instanceof Int32Array ? "int32" : "bool";
}
