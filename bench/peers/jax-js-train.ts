/** jax-js's side of `pnpm bench train`: loss and gradients in one jitted function, AdamW in another, backend wasm. `DIRECTORY --steps N --threads N` */
import { defaultDevice, jit, numpy as np, tree, valueAndGrad } from "@jax-js/jax";
import { jaxJsLoss, type JaxParameters } from "./jax-js-models.js";
import { loadWorkload, peakBytes, report, trainArguments } from "./protocol.js";

// jax-js asks which browser it runs in; Node before 21 has no such object.
if (!("navigator" in globalThis)) Object.assign(globalThis, { navigator: { userAgent: `Node.js/${process.versions.node}`, hardwareConcurrency: 1 } });
defaultDevice("wasm");

const { directory, steps } = trainArguments();
const { shape, optimizer, parameters: specs, weights, batch } = loadWorkload(directory);
const { beta1, beta2, learningRate, epsilon, weightDecay, clipNorm } = optimizer;

type Gradients = { loss: np.Array; gradients: JaxParameters; clip: np.Array };

/** Loss, gradients and the factor that clips them at their global norm. Consumes its arguments. */
const gradientsOf = jit((parameters: JaxParameters, tokens: np.Array, targets: np.Array): Gradients => {
  const lossOf = valueAndGrad((values: JaxParameters, rows: np.Array, next: np.Array) => jaxJsLoss(values, rows, next, shape));
  const [loss, gradients] = lossOf(parameters, tokens, targets) as [np.Array, JaxParameters];
  const squares = Object.values(gradients).map((gradient) => np.square(gradient.ref).sum());
  const norm = np.sqrt(squares.reduce((sum, square) => sum.add(square)));
  return { loss, gradients, clip: np.minimum(1, np.array(clipNorm).div(norm.add(1e-6))) };
});

type Moments = { value: np.Array; first: np.Array; second: np.Array };

/**
 * AdamW on one parameter; `corrections` are 1-β1^t and 1-β2^t, `keep` what decay leaves of a weight. Consumes its arguments: one parameter at a time, so that
 * old and new state of all of them need not fit into wasm's 4 GiB at once.
 */
const update = jit(({ value, first: m, second: v }: Moments, raw: np.Array, clip: np.Array, corrections: np.Array, keep: np.Array): Moments => {
  const gradient = raw.mul(clip);
  const first = m.mul(beta1).add(gradient.ref.mul(1 - beta1));
  const second = v.mul(beta2).add(np.square(gradient).mul(1 - beta2));
  const change = first.ref.div(corrections.ref.slice(0)).div(np.sqrt(second.ref.div(corrections.slice(1))).add(epsilon));
  return { value: value.mul(keep).sub(change.mul(learningRate)), first, second };
});

const parameters: JaxParameters = {};
const moments = new Map<string, { first: np.Array; second: np.Array }>();
for (const [name, values, sizes] of weights()) {
  parameters[name] = np.array(values as Float32Array<ArrayBuffer>).reshape([...sizes]);
  moments.set(name, { first: np.zeros([...sizes]), second: np.zeros([...sizes]) });
}

const losses: number[] = [];
const stepMilliseconds: number[] = [];
for (let step = 0; step < steps; step++) {
  const { tokens, targets } = batch(step);
  const rows = (values: Int32Array): np.Array => np.array(values as Int32Array<ArrayBuffer>).reshape([shape.batch, shape.length]);
  const start = performance.now();
  const { loss, gradients, clip } = gradientsOf(tree.ref(parameters), rows(tokens), rows(targets)) as Gradients;
  const corrections = np.array([1 - beta1 ** (step + 1), 1 - beta2 ** (step + 1)]);
  for (const { name, decayed } of specs) {
    const keep = np.array(decayed ? 1 - learningRate * weightDecay : 1);
    const state = { value: parameters[name], ...moments.get(name) } as Moments;
    const { value, ...next } = update(state, gradients[name] as np.Array, clip.ref, corrections.ref, keep) as Moments;
    parameters[name] = value;
    moments.set(name, next);
  }
  tree.dispose([clip, corrections]);
  losses.push(((await loss.data()) as Float32Array)[0] ?? Number.NaN);
  await Promise.all(Object.values(parameters).map((array) => array.blockUntilReady()));
  stepMilliseconds.push(performance.now() - start);
}
report({ version: "jax-js 0.1.25, jit, wasm", threads: 1, losses, stepMilliseconds, compilesInFirstStep: true, peakBytes: peakBytes() });
