import { z } from "zod";
import { gpt2, gpt2Shape, gpt2Widths, type Gpt2Config } from "./gpt2.js";
import type { LanguageModel } from "./language-model.js";

/** Shapes by name: GPT-2's four published sizes (Radford et al. 2019, table 2; parameters with its vocabulary of 50,257), and two smaller ones for tests and tutorials. */
const presets = {
  "gpt2-nano": { layers: 2, hiddenSize: 64, heads: 4, sequenceLength: 128 },
  "gpt2-micro": { layers: 4, hiddenSize: 128, heads: 4, sequenceLength: 256 },
  "gpt2-small": { layers: 12, hiddenSize: 768, heads: 12, sequenceLength: 1024 },
  "gpt2-medium": { layers: 24, hiddenSize: 1024, heads: 16, sequenceLength: 1024 },
  "gpt2-large": { layers: 36, hiddenSize: 1280, heads: 20, sequenceLength: 1024 },
  "gpt2-xl": { layers: 48, hiddenSize: 1600, heads: 25, sequenceLength: 1024 },
} as const satisfies Readonly<Record<string, Omit<Gpt2Config, "vocabSize">>>;

/** A shape by name: `gpt2-nano` (2 blocks of width 64, 128 tokens), `gpt2-micro` (4 x 128, 256 tokens), `gpt2-small` (GPT-2 124M: 12 x 768, 1,024 tokens), `gpt2-medium`, `gpt2-large`, `gpt2-xl`. */
export type ModelPreset = keyof typeof presets;

/** The names of the presets, smallest first. */
export const modelPresets = Object.keys(presets) as readonly ModelPreset[];

/** A model by the name of its shape, or by its shape. The vocabulary's size comes from the tokens where it isn't given. */
export const modelConfigSchema = z.union(
  [
    z.enum(modelPresets).describe("a shape by name"),
    z
      .strictObject({
        type: z.literal("gpt2").default("gpt2").describe("architecture"),
        ...gpt2Shape,
        vocabSize: gpt2Shape.vocabSize.optional().describe("V, tokens in the vocabulary. Default: that of the tokens"),
      })
      .refine(...gpt2Widths),
  ],
  { error: `must be a shape by name (${modelPresets.join(", ")}) or an object such as { layers, hiddenSize, heads, sequenceLength }` },
);

/** A model as a configuration names it. */
export type ModelConfig = z.input<typeof modelConfigSchema>;

/** A model's configuration with its defaults filled in. */
export type ResolvedModelConfig = z.output<typeof modelConfigSchema>;

/** The longest sequence of a configured model, in tokens. */
export function longestSequence(config: ResolvedModelConfig): number {
  return (typeof config === "string" ? presets[config] : config).sequenceLength;
}

/**
 * Builds the model that a configuration names.
 *
 * @param vocabSize - V, tokens in the vocabulary, unless the configuration gives it
 */
export function buildModel(config: ResolvedModelConfig, vocabSize: number): LanguageModel {
  if (typeof config === "string") return gpt2({ ...presets[config], vocabSize });
  const { type: _type, vocabSize: given = vocabSize, ...shape } = config;
  return gpt2({ ...shape, vocabSize: given });
}
