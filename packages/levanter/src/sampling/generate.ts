import * as tf from "@tensorflow/tfjs-core";
import { MarinError } from "@marin/iris";
import type { NamedBuffers } from "../checkpoint/checkpoints.js";
import type { BufferGroup, Engine, TensorFunction } from "../engine/types.js";
import type { LanguageModel } from "../models/language-model.js";
import type { RandomKey } from "../rng/random-key.js";
import { sampleToken, type SamplingOptions } from "./sample-token.js";

/** What {@link generate} continues, and how. */
export interface GenerateOptions extends Partial<SamplingOptions> {
  readonly engine: Engine;
  readonly model: LanguageModel;
  /** Parameters by name, on the engine. */
  readonly parameters: NamedBuffers;
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
  /** Told each token as it is drawn. */
  readonly onToken?: ((token: number) => void) | undefined;
}

/**
 * Continues a prompt token by token (temperature 1 and no topK by default), computing the whole window anew for each. Once the text is longer than the
 * model's longest sequence, only its end is seen. Throws `LEVANTER_CONFIG` for an empty prompt, tokens outside the vocabulary or an option out of range,
 * `LEVANTER_NOT_FINITE` when the model computes no probabilities.
 *
 * @returns the drawn tokens, without the prompt
 */
export async function generate(options: GenerateOptions): Promise<number[]> {
  const { engine, model, parameters, maxTokens, key, temperature = 1, topK = 0 } = options;
  requireRange("temperature", temperature, Number.isFinite(temperature) && temperature >= 0, "a number from 0");
  requireRange("topK", topK, Number.isInteger(topK) && topK >= 0, "a whole number from 0 (all tokens)");
  requireRange("maxTokens", maxTokens, Number.isSafeInteger(maxTokens) && maxTokens >= 0, "a whole number from 0");
  const text = Array.from(options.prompt);
  const bad = text.find((token) => !Number.isInteger(token) || token < 0 || token >= model.vocabSize);
  if (text.length === 0 || bad !== undefined) {
    const problem = text.length === 0 ? "is empty" : `holds ${String(bad)}, which is no token of a vocabulary of ${String(model.vocabSize)}`;
    throw new MarinError("LEVANTER_CONFIG", `the prompt ${problem}; it must hold at least one token, such as the end-of-text token`);
  }
  const length = Math.min(model.maxSequenceLength, text.length + maxTokens);
  const program = await engine.compile("next-token-logits", nextTokenLogits(model, length), {
    ...model.parameters,
    tokens: { shape: [1, length], dtype: "int32" },
    position: { shape: [1], dtype: "int32" },
  });
  const drawn: number[] = [];
  let io: BufferGroup | undefined;
  try {
    io = engine.allocate({
      tokens: { shape: [1, length], dtype: "int32" },
      position: { shape: [1], dtype: "int32" },
      logits: { shape: [1, model.vocabSize], dtype: "float32" },
    });
    const { tokens, position, logits } = io.buffers;
    if (tokens === undefined || position === undefined || logits === undefined) throw new TypeError("the sampler was not set up");
    while (drawn.length < maxTokens) {
      if (options.signal?.aborted === true) throw new MarinError("LEVANTER_INTERRUPTED", `sampling stopped after ${String(drawn.length)} tokens`);
      const window = text.slice(-length);
      const padded = new Int32Array(length);
      padded.set(window);
      tokens.write(padded);
      position.write(Int32Array.of(window.length - 1));
      await program.run({ ...parameters, tokens, position }, { logits });
      const token = sampleToken((await logits.read()) as Float32Array, { temperature, topK }, key.fold(drawn.length));
      if (token === options.stopToken) break;
      drawn.push(token);
      text.push(token);
      options.onToken?.(token);
    }
  } finally {
    program.dispose();
    io?.release();
  }
  return drawn;
}

function requireRange(option: string, value: number, holds: boolean, range: string): void {
  if (!holds) throw new MarinError("LEVANTER_CONFIG", `${option} is ${String(value)}; it must be ${range}`, { data: { option, value } });
}

/** The model's logits at one position of a row of `length` tokens; causal attention makes what lies behind it irrelevant. */
function nextTokenLogits(model: LanguageModel, length: number): TensorFunction {
  return (inputs) => {
    const all = model.logits(inputs)["logits"];
    const { position } = inputs;
    if (all === undefined || position === undefined) throw new TypeError("next-token logits need logits and a position");
    return { logits: tf.gather(tf.reshape(all, [length, model.vocabSize]), position) };
  };
}
