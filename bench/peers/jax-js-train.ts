/** jax-js's side of `pnpm bench train`: one jitted step of loss, gradients and AdamW, backend wasm. `DIRECTORY --steps N --threads N` */
import { defaultDevice, jit, numpy as np, tree, valueAndGrad } from "@jax-js/jax";
import { jaxJsLoss, type JaxParameters } from "./jax-js-models.js";
import { loadWorkload, peakBytes, report, trainArguments } from "./protocol.js";

// jax-js asks which browser it runs in; Node before 21 has no such object.
if (!("navigator" in globalThis)) Object.assign(globalThis, { navigator: { userAgent: `Node.js/${process.versions.node}`, hardwareConcurrency: 1 } });
defaultDevice("wasm");

const { directory, steps } = trainArguments();
const { shape, optimizer, parameters: specs, weights, batch } = loadWorkload(directory);
const { beta1, beta2, learningRate, epsilon, weightDecay, clipNorm } = optimizer;
const decay = new Map(specs.map(({ name, decayed }) => [name, decayed ? weightDecay : 0]));

type State = { parameters: JaxParameters; first: JaxParameters; second: JaxParameters };

/** One AdamW step; `corrections` are 1-β1^t and 1-β2^t. Consumes its arguments. */
const train = jit((state: State, tokens: np.Array, targets: np.Array, corrections: np.Array): { state: State; loss: np.Array } => {
  const lossOf = valueAndGrad((parameters: JaxParameters, rows: np.Array, next: np.Array) => jaxJsLoss(parameters, rows, next, shape));
  const [loss, gradients] = lossOf(tree.ref(state.parameters), tokens, targets) as [np.Array, JaxParameters];
  const squares = Object.values(gradients).map((gradient) => np.square(gradient.ref).sum());
  const norm = np.sqrt(squares.reduce((sum, square) => sum.add(square)));
  const clip = np.minimum(1, np.array(clipNorm).div(norm.add(1e-6)));
  const next: State = { parameters: {}, first: {}, second: {} };
  const [correction1, correction2] = [corrections.ref.slice(0), corrections.slice(1)];
  for (const [name, raw] of Object.entries(gradients)) {
    const gradient = raw.mul(clip.ref);
    const [before, m, v] = [state.parameters[name], state.first[name], state.second[name]] as [np.Array, np.Array, np.Array];
    const first = m.mul(beta1).add(gradient.ref.mul(1 - beta1));
    const second = v.mul(beta2).add(np.square(gradient).mul(1 - beta2));
    const change = first.ref.div(correction1.ref).div(np.sqrt(second.ref.div(correction2.ref)).add(epsilon));
    next.parameters[name] = before.mul(1 - learningRate * (decay.get(name) ?? 0)).sub(change.mul(learningRate));
    next.first[name] = first;
    next.second[name] = second;
  }
  tree.dispose([clip, correction1, correction2]);
  return { state: next, loss };
});

let state: State = { parameters: {}, first: {}, second: {} };
for (const [name, values, sizes] of weights()) {
  state.parameters[name] = np.array(values as Float32Array<ArrayBuffer>).reshape([...sizes]);
  state.first[name] = np.zeros([...sizes]);
  state.second[name] = np.zeros([...sizes]);
}

const losses: number[] = [];
const stepMilliseconds: number[] = [];
for (let step = 0; step < steps; step++) {
  const { tokens, targets } = batch(step);
  const rows = (values: Int32Array): np.Array => np.array(values as Int32Array<ArrayBuffer>).reshape([shape.batch, shape.length]);
  const start = performance.now();
  const corrections = np.array([1 - beta1 ** (step + 1), 1 - beta2 ** (step + 1)]);
  const result = train(state, rows(tokens), rows(targets), corrections) as { state: State; loss: np.Array };
  state = result.state;
  losses.push(((await result.loss.data()) as Float32Array)[0] ?? Number.NaN);
  await Promise.all(Object.values(state.parameters).map((array) => array.blockUntilReady()));
  stepMilliseconds.push(performance.now() - start);
}
report({ version: "jax-js 0.1.25, jit, wasm", threads: 1, losses, stepMilliseconds, compilesInFirstStep: true, peakBytes: peakBytes() });
