import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gpt2, RandomKey, uniform } from "@marin/levanter";

/** What every side of the training benchmark computes: model, batches and optimizer. B batch, T time, D model, H heads, V vocabulary. */
export interface TrainWorkload {
  readonly shape: {
    readonly vocabulary: number;
    readonly width: number;
    readonly layers: number;
    readonly heads: number;
    readonly batch: number;
    readonly length: number;
  };
  readonly optimizer: {
    readonly learningRate: number;
    readonly beta1: number;
    readonly beta2: number;
    readonly epsilon: number;
    readonly weightDecay: number;
    readonly clipNorm: number;
  };
  /** In the order of `weights.bin`. */
  readonly parameters: readonly { readonly name: string; readonly shape: readonly number[] }[];
}

const SHAPE = { vocabulary: 4096, width: 256, layers: 4, heads: 4, batch: 8, length: 128 };
const OPTIMIZER = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1, clipNorm: 1 };

/** Different batches written; steps beyond them start over. */
const BATCHES = 16;

/**
 * Writes the workload to a directory, for processes in any language: `setup.json`, `weights.bin` (float32, little-endian, one parameter after
 * the other) and `batches.bin` (int32 [batches, B, T+1]: row positions 0..T-1 are the inputs, 1..T the targets).
 */
export async function writeTrainWorkload(directory: string): Promise<TrainWorkload> {
  const { vocabulary, width, layers, heads, batch, length } = SHAPE;
  const model = gpt2({ vocabSize: vocabulary, hiddenSize: width, layers, heads, sequenceLength: length });
  const key = RandomKey.fromSeed(0);
  const parameters = Object.entries(model.parameters).map(([name, { shape }]) => ({ name, shape }));
  const values = model.initialize(key.fold("weights"));
  const workload = { shape: SHAPE, optimizer: OPTIMIZER, parameters };
  await writeFile(join(directory, "setup.json"), JSON.stringify(workload));
  await writeFile(join(directory, "weights.bin"), Buffer.concat(parameters.map(({ name }) => bytes(values[name] ?? new Float32Array()))));
  const draws = uniform(key.fold("tokens"), BATCHES * batch * (length + 1));
  // V^u for uniform u is distributed as words are: density proportional to 1/rank.
  await writeFile(join(directory, "batches.bin"), bytes(Int32Array.from(draws, (u) => Math.floor(vocabulary ** u) - 1)));
  return workload;
}

function bytes(values: Float32Array | Int32Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}
