import { gpt2, llama, type LanguageModel } from "@marin/levanter";

/** Sizes of a model and its batches, as every program of the training benchmark reads them. D is the width, T the length, V the vocabulary. */
export interface WorkloadShape {
  readonly architecture: "gpt2" | "llama";
  /** V. */
  readonly vocabulary: number;
  /** D, width of the residual stream. */
  readonly width: number;
  /** Width within the feed-forward network. */
  readonly inner: number;
  readonly layers: number;
  readonly heads: number;
  /** Heads of keys and values, each serving as many heads of queries. */
  readonly keyValueHeads: number;
  /** Longest T of the model; GPT-2 has a learned vector for each. */
  readonly positions: number;
  /** Added to the variance in norms. */
  readonly epsilon: number;
  /** Base of the rotary positions' wavelengths; GPT-2 has none. */
  readonly ropeTheta: number;
  /** Rows of a batch. */
  readonly batch: number;
  /** T, tokens of a row. */
  readonly length: number;
}

/** How often something is measured. */
export interface Repetitions {
  /** Processes of each side, in turn. */
  readonly rounds: number;
  /** Steps of each process that count. */
  readonly steps: number;
  /** Steps of each process before them. */
  readonly warmup: number;
}

/** A model that `pnpm bench train --model` knows. */
export interface BenchModel {
  readonly summary: string;
  readonly shape: WorkloadShape;
  /** Against peers that take about as long as levanter. */
  readonly repetitions: Repetitions;
  /** Against peers that take several times as long. */
  readonly slowRepetitions: Repetitions;
}

function gpt2Shape(layers: number, width: number, heads: number, vocabulary: number, positions: number, batch: number, length: number): WorkloadShape {
  return { architecture: "gpt2", vocabulary, width, inner: 4 * width, layers, heads, keyValueHeads: heads, positions, epsilon: 1e-5, ropeTheta: 1, batch, length };
}

/** The models, by the name that `--model` takes. */
export const BENCH_MODELS = {
  tutorial: {
    summary: "the tutorial's GPT-2: 4 x 256, 4.2 M parameters, batch 8 x 128",
    shape: gpt2Shape(4, 256, 4, 4096, 128, 8, 128),
    repetitions: { rounds: 3, steps: 12, warmup: 4 },
    slowRepetitions: { rounds: 2, steps: 4, warmup: 2 },
  },
  "gpt2-30m": {
    summary: "GPT-2 of 8 x 512, V 8,192, 29.5 M parameters, batch 4 x 256",
    shape: gpt2Shape(8, 512, 8, 8192, 256, 4, 256),
    repetitions: { rounds: 3, steps: 6, warmup: 2 },
    slowRepetitions: { rounds: 1, steps: 4, warmup: 1 },
  },
  "llama-20m": {
    summary: "Llama-shaped: 8 x 384, 6 heads of queries, 2 of keys and values, V 8,192, untied, 18.9 M parameters, batch 4 x 256",
    shape: {
      architecture: "llama", vocabulary: 8192, width: 384, inner: 1024, layers: 8, heads: 6, keyValueHeads: 2, positions: 256, epsilon: 1e-5, ropeTheta: 10_000, batch: 4, length: 256,
    },
    repetitions: { rounds: 3, steps: 6, warmup: 2 },
    slowRepetitions: { rounds: 1, steps: 4, warmup: 1 },
  },
  "gpt2-124m": {
    summary: "GPT-2 124M: 12 x 768, V 50,257, batch 2 x 256",
    shape: gpt2Shape(12, 768, 12, 50257, 1024, 2, 256),
    repetitions: { rounds: 2, steps: 5, warmup: 2 },
    slowRepetitions: { rounds: 1, steps: 4, warmup: 1 },
  },
} as const satisfies Readonly<Record<string, BenchModel>>;

export type BenchModelName = keyof typeof BENCH_MODELS;

/** The names of the models, smallest first. */
export const BENCH_MODEL_NAMES = Object.keys(BENCH_MODELS) as readonly BenchModelName[];

/** Levanter's model of these sizes. */
export function modelOf(shape: WorkloadShape): LanguageModel {
  const { vocabulary, width, inner, layers, heads, keyValueHeads, positions, epsilon, ropeTheta } = shape;
  const common = { vocabSize: vocabulary, hiddenSize: width, layers, heads, sequenceLength: positions };
  if (shape.architecture === "gpt2") return gpt2({ ...common, layerNormEpsilon: epsilon });
  return llama({ ...common, intermediateSize: inner, keyValueHeads, rmsNormEpsilon: epsilon, ropeTheta });
}
