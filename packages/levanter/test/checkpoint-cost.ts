// Measures what a checkpoint costs: node --conditions=@marin/source --import tsx test/checkpoint-cost.ts [tutorial|small] [repeats]
// Prints JSON, medians. Processor seconds of the whole process hold on a busy machine too; seconds that training waits do not.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Checkpointer } from "../src/checkpoint/checkpointer.js";
import { gpt2, RandomKey, selectEngine, TrainingState } from "../src/index.js";

const WORKLOADS = {
  tutorial: { vocabSize: 4096, sequenceLength: 128, hiddenSize: 256, layers: 4, heads: 4, batchSize: 8 },
  small: { vocabSize: 8192, sequenceLength: 256, hiddenSize: 512, layers: 6, heads: 8, batchSize: 4 },
};

const [name = "tutorial", repeats = "5"] = process.argv.slice(2);
const workload = name === "small" ? WORKLOADS.small : WORKLOADS.tutorial;
const { batchSize, ...shape } = workload;
const { sequenceLength, vocabSize } = shape;
const model = gpt2(shape);
const engine = await selectEngine({ engine: "onnx", threads: 1 });
const state = await TrainingState.create(engine, model, { batchSize, microbatchSize: batchSize, sequenceLength });
state.setParameters(model.initialize(RandomKey.fromSeed(1)));
const size = batchSize * sequenceLength;
const batch = {
  tokens: Int32Array.from({ length: size }, (_, i) => (i * 7919) % vocabSize),
  targets: Int32Array.from({ length: size }, (_, i) => (i * 104_729) % vocabSize),
  weights: new Float32Array(size).fill(1),
  weightSum: size,
};
const directory = await mkdtemp(join(tmpdir(), "levanter-cost-"));
const checkpointer = await Checkpointer.open({ directory, saveIntervalSeconds: 0, identity: {}, engine });

/** Processor seconds of this process, all threads together. */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

async function measure(work: () => Promise<void>): Promise<number> {
  const before = processorSeconds();
  await work();
  return processorSeconds() - before;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

let step = 0;
async function train(): Promise<void> {
  await state.computeGradients(batch);
  step += 1;
  await state.update({ update: step, learningRate: 1e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1, gradientScale: 1 / size });
}

await train();
const steps: number[] = [];
const copies: number[] = [];
const writes: number[] = [];
const waits: number[] = [];
let snapshotBytes = 0;
for (let repeat = 0; repeat < Number(repeats); repeat++) {
  steps.push(await measure(train));
  checkpointer.request();
  copies.push(
    await measure(async () => {
      const report = await checkpointer.afterStep({ step, groups: state.groups, state: null });
      waits.push(report?.blockedSeconds ?? Number.NaN);
      snapshotBytes = report?.snapshotBytes ?? 0;
    }),
  );
  writes.push(await measure(() => checkpointer.settle()));
}
const [stepSeconds, copySeconds, writeSeconds] = [median(steps), median(copies), median(writes)];
const stepsForFivePercent = Math.ceil((copySeconds + writeSeconds) / (0.05 * stepSeconds));
console.log(JSON.stringify({ name, snapshotMiB: snapshotBytes / 2 ** 20, stepSeconds, copySeconds, writeSeconds, stepsForFivePercent, trainingWaitsSeconds: median(waits), rssMiB: process.memoryUsage().rss / 2 ** 20 }));
state.release();
await engine.dispose();
await rm(directory, { recursive: true });
