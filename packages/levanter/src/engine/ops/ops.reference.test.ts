import { afterAll, beforeAll, describe, it } from "vitest";
import { expectClose } from "../../../test/reference/closeness.js";
import { ENGINES } from "../../../test/reference/engines.js";
import { Fixture, type StoredTensor } from "../../../test/reference/fixtures.js";
import { caseFunction, inputSpecs, LEVANTER_OPERATIONS, TFJS_OPERATIONS, type OperationCase } from "../../../test/reference/operations.js";
import type { Engine, EngineBuffer, TensorData } from "../types.js";

const fixture = Fixture.open<{ cases: OperationCase[] }>("ops");
const operations = { ...TFJS_OPERATIONS, ...LEVANTER_OPERATIONS };

function toTensorData(stored: StoredTensor): TensorData {
  const values = fixture.values(stored);
  if (stored.dtype === "float32") return Float32Array.from(values);
  return stored.dtype === "int32" ? Int32Array.from(values) : Uint8Array.from(values);
}

/** Runs a case on an engine and returns every output by name. */
async function run(engine: Engine, testCase: OperationCase): Promise<Record<string, TensorData>> {
  const apply = operations[testCase.op];
  if (apply === undefined) throw new Error(`operations.ts has no "${testCase.op}"`);
  const specs = inputSpecs(testCase);
  const program = await engine.compile(testCase.name, caseFunction(testCase, apply), specs);
  const inputs = engine.allocate(specs);
  const outputs = engine.allocate(program.outputs);
  for (const [name, stored] of Object.entries(testCase.inputs)) (inputs.buffers[name] as EngineBuffer).write(toTensorData(stored));
  testCase.upstream?.forEach((stored, index) => (inputs.buffers[`upstream${index}`] as EngineBuffer).write(toTensorData(stored)));
  await program.run(inputs.buffers, outputs.buffers);
  const results: Record<string, TensorData> = {};
  for (const [name, buffer] of Object.entries(outputs.buffers)) results[name] = await buffer.read();
  program.dispose();
  inputs.release();
  outputs.release();
  return results;
}

describe.each(Object.entries(ENGINES))("operations on engine %s agree with PyTorch", (_name, createEngine) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await createEngine();
  });
  afterAll(() => engine.dispose());

  it.each(fixture.index.cases.map((testCase) => [testCase.name, testCase] as const))("%s", async (name, testCase) => {
    const results = await run(engine, testCase);
    testCase.outputs.forEach((stored, index) => {
      expectClose(results[`output${index}`] ?? [], fixture.values(stored), 1e-6, 1e-5, name);
    });
    for (const [input, stored] of Object.entries(testCase.gradients ?? {})) {
      const expected = fixture.values(stored);
      // A gradient is a sum whose terms may be as large as the tensor's largest values.
      const largest = Math.max(...expected.map(Math.abs));
      expectClose(results[`gradient/${input}`] ?? [], expected, 1e-5 + 1e-6 * largest, 1e-5, `${name}, gradient of ${input}`);
    }
  });
});
