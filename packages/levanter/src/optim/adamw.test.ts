import { afterAll, beforeAll, expect, it } from "vitest";
import { OnnxEngine } from "../engine/compiled-engine.js";
import type { BufferGroup, ElementwiseProgram, Engine, Specs } from "../engine/types.js";
import { normal } from "../rng/distributions.js";
import { RandomKey } from "../rng/random-key.js";
import { ADAMW_GROUPS, ADAMW_SCALARS, adamW, adamWScalars } from "./adamw.js";
import { clipFactor } from "./gradients.js";

let engine: Engine;
let program: ElementwiseProgram;
const N = 100;
const SPECS: Specs = { w: { shape: [N], dtype: "float32" } };

beforeAll(async () => {
  engine = await OnnxEngine.create({ threads: 1 });
  program = await engine.compileElementwise("adamw", adamW, ADAMW_GROUPS, ADAMW_SCALARS);
});
afterAll(() => engine.dispose());

/** The algorithm as published, in float64: Loshchilov and Hutter, Algorithm 2, schedule multiplier folded into the rate. */
class Reference {
  p: Float64Array;
  m = new Float64Array(N);
  v = new Float64Array(N);

  constructor(start: Float32Array) {
    this.p = Float64Array.from(start);
  }

  update(g: readonly number[], t: number, lr: number, decay: number): void {
    const [beta1, beta2, epsilon] = [0.9, 0.95, 1e-8];
    for (let i = 0; i < N; i++) {
      const [gi, pi] = [g[i] ?? 0, this.p[i] ?? 0];
      const m = (this.m[i] = beta1 * (this.m[i] ?? 0) + (1 - beta1) * gi);
      const v = (this.v[i] = beta2 * (this.v[i] ?? 0) + (1 - beta2) * gi * gi);
      this.p[i] = pi - lr * ((m / (1 - beta1 ** t)) / (Math.sqrt(v / (1 - beta2 ** t)) + epsilon) + decay * pi);
    }
  }
}

it.each([
  { weightDecay: 0.1, gradientScale: 1 },
  { weightDecay: 0, gradientScale: 0.37 },
])("follows the published algorithm for 20 updates: %o", async ({ weightDecay, gradientScale }) => {
  const groups = Object.fromEntries(ADAMW_GROUPS.map((name) => [name, engine.allocate(SPECS)])) as Record<(typeof ADAMW_GROUPS)[number], BufferGroup>;
  const start = normal(RandomKey.fromSeed(0), N);
  groups.parameters.buffers["w"]?.write(start);
  const reference = new Reference(start);
  for (let update = 1; update <= 20; update++) {
    // Gradients of very different sizes: 1e-6 to 1e2.
    const gradient = normal(RandomKey.fromSeed(update), N).map((x, i) => x * 10 ** ((i % 9) - 6));
    groups.gradients.buffers["w"]?.write(gradient);
    const learningRate = 0.01 * update;
    await program.run(groups, adamWScalars({ update, learningRate, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay, gradientScale }));
    reference.update(Array.from(gradient, (x) => x * gradientScale), update, learningRate, weightDecay);
  }
  const found = (await groups.parameters.buffers["w"]?.read()) as Float32Array;
  found.forEach((value, i) => {
    expect(Math.abs(value - (reference.p[i] ?? 0))).toBeLessThan(1e-5);
  });
  for (const group of Object.values(groups)) group.release();
});

it("clips gradients to the largest norm", () => {
  expect(clipFactor(10, 1)).toBeCloseTo(0.1, 6);
  expect(clipFactor(0.5, 1)).toBe(1);
  expect(clipFactor(10, 0)).toBe(1);
});
