import { loadParameters, modelOfCheckpoint, Sampler, TextScorer, type Engine, type LanguageModel, type TrainerConfig } from "@marin/levanter";
import { MarinError } from "@marin/rigging";
import { loadTokenizer, type Tokenizer } from "../processing/tokenizer/tokenizer.js";
import { withEngine } from "../steps/compute.js";

/** A trained model and its tokenizer, where they lie. */
export interface ModelLocation {
  /** Directory of a checkpoint, or of a run or artifact with one under `checkpoints/`. */
  readonly checkpoint: string;
  /** The tokenizer's `tokenizer.json`. */
  readonly tokenizer: string;
}

/** What computes. */
export interface InferenceCompute {
  /** An engine by name. Default: `auto`, the fastest that works. */
  readonly engine?: TrainerConfig["engine"] | undefined;
  /** Where it computes. Default: `auto`. */
  readonly device?: TrainerConfig["device"] | undefined;
  /** Threads that compute; 0, the default: one for each available core. */
  readonly threads?: number | undefined;
}

/** A model ready to answer. */
export interface ServedModel {
  readonly model: LanguageModel;
  readonly tokenizer: Tokenizer;
  readonly engine: Engine;
  readonly sampler: Sampler;
  readonly scorer: TextScorer;
}

/**
 * Loads a model once, has `use` work with it, and releases it.
 *
 * @throws MarinError MARIN_INFERENCE_TOKENIZER when the tokenizer has tokens that the model doesn't know; what reading the checkpoint, the tokenizer and
 * the engine throw
 */
export async function withServedModel<T>(
  location: ModelLocation, { engine = "auto", device = "auto", threads = 0 }: InferenceCompute, log: (message: string) => void, use: (served: ServedModel) => Promise<T>,
): Promise<T> {
  const tokenizer = await loadTokenizer(location.tokenizer);
  const { model, checkpoint } = await modelOfCheckpoint(location.checkpoint);
  if (tokenizer.vocabSize > model.vocabSize) {
    throw new MarinError(
      "MARIN_INFERENCE_TOKENIZER",
      `${location.tokenizer} has ${String(tokenizer.vocabSize)} tokens, the model in ${checkpoint} only ${String(model.vocabSize)}: give the tokenizer that the model was trained with`,
      { data: { ...location, tokens: tokenizer.vocabSize, modelTokens: model.vocabSize } },
    );
  }
  return withEngine({ engine, device, threads }, log, async (started) => {
    const parameters = await loadParameters(started, model, checkpoint);
    const sampler = new Sampler(started, model, parameters.buffers);
    const scorer = new TextScorer(started, model, parameters.buffers);
    try {
      return await use({ model, tokenizer, engine: started, sampler, scorer });
    } finally {
      await Promise.all([sampler.release(), scorer.release()]);
      parameters.release();
    }
  });
}
