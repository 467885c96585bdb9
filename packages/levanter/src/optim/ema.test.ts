import { afterAll, beforeAll, expect, it } from "vitest";
import { OnnxEngine } from "../engine/compiled-engine.js";
import type { ElementwiseProgram, Engine, Specs } from "../engine/types.js";
import { normal } from "../rng/distributions.js";
import { RandomKey } from "../rng/random-key.js";
import { EMA_GROUPS, EMA_SCALARS, emaScalars, updateEma } from "./ema.js";

let engine: Engine;
let program: ElementwiseProgram;
const N = 1000;
const SPECS: Specs = { w: { shape: [N], dtype: "float32" } };

beforeAll(async () => {
  engine = await OnnxEngine.create({ threads: 1 });
  program = await engine.compileElementwise("ema", updateEma, EMA_GROUPS, EMA_SCALARS);
});
afterAll(() => engine.dispose());

/** The average of what `values` gives for steps 1 to `steps`, from `values(0)`. */
async function averaged(steps: number, beta: number, values: (step: number) => Float32Array): Promise<Float32Array> {
  const [ema, parameters] = [engine.allocate(SPECS), engine.allocate(SPECS)];
  ema.buffers["w"]?.write(values(0));
  for (let step = 1; step <= steps; step++) {
    parameters.buffers["w"]?.write(values(step));
    await program.run({ ema, parameters }, emaScalars(beta));
  }
  const result = (await ema.buffers["w"]?.read()) as Float32Array;
  ema.release();
  parameters.release();
  return result;
}

it("weighs the parameters of k steps ago by (1-β)·β^k", async () => {
  const beta = 0.9;
  const found = await averaged(30, beta, (step) => normal(RandomKey.fromSeed(step), N));
  const expected = new Float64Array(N);
  for (let step = 0; step <= 30; step++) {
    const weight = step === 0 ? beta ** 30 : (1 - beta) * beta ** (30 - step);
    normal(RandomKey.fromSeed(step), N).forEach((x, i) => (expected[i] = (expected[i] ?? 0) + weight * x));
  }
  found.forEach((x, i) => { expect(Math.abs(x - (expected[i] ?? 0))).toBeLessThan(1e-6); });
});

it("of what does not change is exactly that", async () => {
  const constant = normal(RandomKey.fromSeed(1), N);
  expect(await averaged(20, 0.999, () => constant)).toEqual(constant);
});
