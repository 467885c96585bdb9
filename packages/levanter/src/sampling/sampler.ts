import { MarinError } from "@marin/iris";
import type { NamedBuffers } from "../checkpoint/write-checkpoint.js";
import type { Engine } from "../engine/types.js";
import type { LanguageModel } from "../models/language-model.js";
import type { RandomKey } from "../rng/random-key.js";
import { NextTokenLogits } from "./next-token-logits.js";
import { sampleToken, type SamplingOptions } from "./sample-token.js";

/** What a {@link Sampler} continues, and how. */
export interface ContinueOptions extends Partial<SamplingOptions> {
  /** Tokens to continue, at least one: the end-of-text token starts a new document. */
  readonly prompt: ArrayLike<number>;
  /** Tokens to draw at most. */
  readonly maxTokens: number;
  /** Names the draws: equal keys give equal text. */
  readonly key: RandomKey;
  /** Ends the text when drawn; it is not returned. Default: none. */
  readonly stopToken?: number | undefined;
  /** Stops with `LEVANTER_INTERRUPTED`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Continues prompts with one model, any number of them at once: they take turns, token by token. What a prompt becomes depends on its options alone, not
 * on what else is drawn. Each token costs the computation of the whole text before it; texts longer than the model's longest sequence are seen from their end.
 */
export class Sampler {
  readonly #model: LanguageModel;
  readonly #logits: NextTokenLogits;

  /** @param parameters - by name, on the engine; they stay the caller's */
  constructor(engine: Engine, model: LanguageModel, parameters: NamedBuffers) {
    this.#model = model;
    this.#logits = new NextTokenLogits(engine, model, parameters);
  }

  /**
   * Draws tokens one by one, each when it is asked for (temperature 1, no topK, no topP by default).
   *
   * @throws MarinError LEVANTER_CONFIG for an empty prompt, tokens outside the vocabulary or an option out of range; LEVANTER_NOT_FINITE when the model
   * computes no probabilities; LEVANTER_INTERRUPTED
   */
  async *continue(options: ContinueOptions): AsyncGenerator<number, void, undefined> {
    const { maxTokens, key, temperature = 1, topK = 0, topP = 1, stopToken, signal } = options;
    requireRange("temperature", temperature, Number.isFinite(temperature) && temperature >= 0, "a number from 0");
    requireRange("topK", topK, Number.isInteger(topK) && topK >= 0, "a whole number from 0 (all tokens)");
    requireRange("topP", topP, topP > 0 && topP <= 1, "a number above 0, at most 1 (all tokens)");
    requireRange("maxTokens", maxTokens, Number.isSafeInteger(maxTokens) && maxTokens >= 0, "a whole number from 0");
    const text = this.#checked(options.prompt);
    for (let drawn = 0; drawn < maxTokens; drawn++) {
      if (signal?.aborted === true) throw new MarinError("LEVANTER_INTERRUPTED", `sampling stopped after ${String(drawn)} tokens`);
      const token = sampleToken(await this.#logits.after(text), { temperature, topK, topP }, key.fold(drawn));
      if (token === stopToken) return;
      text.push(token);
      yield token;
    }
  }

  /** Releases programs and memory once the token being drawn is there; drawing on throws LEVANTER_RELEASED. */
  release(): Promise<void> {
    return this.#logits.release();
  }

  #checked(prompt: ArrayLike<number>): number[] {
    const { vocabSize } = this.#model;
    const text = Array.from(prompt);
    const bad = text.find((token) => !Number.isInteger(token) || token < 0 || token >= vocabSize);
    if (text.length > 0 && bad === undefined) return text;
    const problem = text.length === 0 ? "is empty" : `holds ${String(bad)}, which is no token of a vocabulary of ${String(vocabSize)}`;
    throw new MarinError("LEVANTER_CONFIG", `the prompt ${problem}; it must hold at least one token, such as the end-of-text token`);
  }
}

function requireRange(option: string, value: number, holds: boolean, range: string): void {
  if (!holds) throw new MarinError("LEVANTER_CONFIG", `${option} is ${String(value)}; it must be ${range}`, { data: { option, value } });
}
