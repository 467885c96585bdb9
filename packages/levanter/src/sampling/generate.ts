import type { NamedBuffers } from "../checkpoint/write-checkpoint.js";
import type { Engine } from "../engine/types.js";
import type { LanguageModel } from "../models/language-model.js";
import { Sampler, type ContinueOptions } from "./sampler.js";

/** What {@link generate} continues, and how. */
export interface GenerateOptions extends ContinueOptions {
  readonly engine: Engine;
  readonly model: LanguageModel;
  /** Parameters by name, on the engine. */
  readonly parameters: NamedBuffers;
  /** Told each token as it is drawn. */
  readonly onToken?: ((token: number) => void) | undefined;
}

/**
 * Continues one prompt with a {@link Sampler} of its own, and throws what that throws.
 *
 * @returns the drawn tokens, without the prompt
 */
export async function generate({ engine, model, parameters, onToken, ...options }: GenerateOptions): Promise<number[]> {
  const sampler = new Sampler(engine, model, parameters);
  const drawn: number[] = [];
  try {
    for await (const token of sampler.continue(options)) {
      drawn.push(token);
      onToken?.(token);
    }
  } finally {
    await sampler.release();
  }
  return drawn;
}
