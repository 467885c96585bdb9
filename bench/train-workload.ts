import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parameterCount, RandomKey, trainingFlopsPerToken, uniform } from "@marin/levanter";
import { modelOf, type WorkloadShape } from "./models.js";

/** What every side of the training benchmark computes: model, batches and optimizer. */
export interface TrainWorkload {
  readonly shape: WorkloadShape;
  readonly optimizer: {
    readonly learningRate: number;
    readonly beta1: number;
    readonly beta2: number;
    readonly epsilon: number;
    readonly weightDecay: number;
    readonly clipNorm: number;
  };
  /** In the order of `weights.bin`. */
  readonly parameters: readonly WorkloadParameter[];
}

/** One parameter, and whether weight decay acts on it. */
export interface WorkloadParameter {
  readonly name: string;
  readonly shape: readonly number[];
  readonly decayed: boolean;
}

const OPTIMIZER = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1, clipNorm: 1 };

/** Different batches written; steps beyond them start over. */
const BATCHES = 16;

/** How much a workload computes. */
export interface WorkloadSize {
  readonly parameters: number;
  readonly tokensPerStep: number;
  /** By levanter's formula (`trainingFlopsPerToken`): the same for all sides. */
  readonly flopsPerToken: number;
}

/** The size of a model's training step. */
export function sizeOf(shape: WorkloadShape): WorkloadSize {
  const model = modelOf(shape);
  if (model.transformer === undefined) throw new TypeError(`${model.type} has no FLOP count`);
  return {
    parameters: parameterCount(model.parameters),
    tokensPerStep: shape.batch * shape.length,
    flopsPerToken: trainingFlopsPerToken(model.transformer, shape.length),
  };
}

/**
 * Writes the workload to a directory, for processes in any language: `setup.json`, `weights.bin` (float32, little-endian, one parameter after
 * the other) and `batches.bin` (int32 [batches, B, T+1]: row positions 0..T-1 are the inputs, 1..T the targets).
 */
export async function writeTrainWorkload(directory: string, shape: WorkloadShape): Promise<void> {
  const model = modelOf(shape);
  const key = RandomKey.fromSeed(0);
  const parameters = Object.entries(model.parameters).map(([name, spec]) => ({ name, shape: spec.shape, decayed: model.isDecayed(name) }));
  const workload: TrainWorkload = { shape, optimizer: OPTIMIZER, parameters };
  await writeFile(join(directory, "setup.json"), JSON.stringify(workload));
  const values = model.initialize(key.fold("weights"));
  const weights = await open(join(directory, "weights.bin"), "w");
  try {
    for (const { name } of parameters) await weights.writeFile(bytes(values[name] ?? new Float32Array()));
  } finally {
    await weights.close();
  }
  const draws = uniform(key.fold("tokens"), BATCHES * shape.batch * (shape.length + 1));
  // V^u for uniform u is distributed as words are: density proportional to 1/rank.
  await writeFile(join(directory, "batches.bin"), bytes(Int32Array.from(draws, (u) => Math.floor(shape.vocabulary ** u) - 1)));
}

function bytes(values: Float32Array | Int32Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}
