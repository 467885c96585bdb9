import { z } from "zod";
import { gpt2, gpt2Shape, gpt2Widths, type Gpt2Config } from "./gpt2.js";
import type { LanguageModel } from "./language-model.js";
import { llama, llamaRules, llamaShape, type LlamaConfig } from "./llama.js";

/** A shape without the vocabulary's size, which the tokens give. */
type Gpt2Preset = { readonly type: "gpt2" } & Omit<Gpt2Config, "vocabSize">;
type LlamaPreset = { readonly type: "llama" } & Omit<LlamaConfig, "vocabSize">;
type ShapeWithVocabulary = (Gpt2Preset | LlamaPreset) & { readonly vocabSize?: number | undefined };

/** Shapes by name: GPT-2's four published sizes (Radford et al. 2019, table 2; parameters with its vocabulary of 50,257), and smaller ones for tests, tutorials and one machine. */
const presets = {
  "gpt2-nano": { type: "gpt2", layers: 2, hiddenSize: 64, heads: 4, sequenceLength: 128 },
  "llama-nano": { type: "llama", layers: 2, hiddenSize: 64, intermediateSize: 128, heads: 4, keyValueHeads: 2, sequenceLength: 128, tiedHead: true },
  "gpt2-micro": { type: "gpt2", layers: 4, hiddenSize: 128, heads: 4, sequenceLength: 256 },
  "llama-mini": { type: "llama", layers: 6, hiddenSize: 512, intermediateSize: 1408, heads: 8, keyValueHeads: 2, sequenceLength: 512, tiedHead: true },
  "gpt2-mini": { type: "gpt2", layers: 8, hiddenSize: 512, heads: 8, sequenceLength: 512 },
  "llama-small": { type: "llama", layers: 12, hiddenSize: 768, intermediateSize: 2048, heads: 12, sequenceLength: 1024 },
  "gpt2-small": { type: "gpt2", layers: 12, hiddenSize: 768, heads: 12, sequenceLength: 1024 },
  "gpt2-medium": { type: "gpt2", layers: 24, hiddenSize: 1024, heads: 16, sequenceLength: 1024 },
  "gpt2-large": { type: "gpt2", layers: 36, hiddenSize: 1280, heads: 20, sequenceLength: 1024 },
  "gpt2-xl": { type: "gpt2", layers: 48, hiddenSize: 1600, heads: 25, sequenceLength: 1024 },
} as const satisfies Readonly<Record<string, Gpt2Preset | LlamaPreset>>;

/**
 * A shape by name. Blocks x width, longest sequence: `gpt2-nano` and `llama-nano` (2 x 64, 128 tokens), `gpt2-micro` (4 x 128, 256), `llama-mini` (6 x 512, 512; 17 M in its
 * blocks), `gpt2-mini` (8 x 512, 512; 25 M in its blocks), `llama-small` (12 x 768, 1,024), `gpt2-small` (GPT-2 124M: 12 x 768, 1,024), `gpt2-medium`, `gpt2-large`, `gpt2-xl`.
 */
export type ModelPreset = keyof typeof presets;

/** The names of the presets, smallest first. */
export const modelPresets = Object.keys(presets) as readonly ModelPreset[];

const gpt2Fields = z
  .strictObject({
    type: z.literal("gpt2").default("gpt2").describe("architecture"),
    ...gpt2Shape,
    vocabSize: gpt2Shape.vocabSize.optional().describe("V, tokens in the vocabulary. Default: that of the tokens"),
  })
  .refine(...gpt2Widths);

const llamaFields = llamaRules.reduce(
  (schema, [holds, issue]) => schema.refine(holds, { ...issue, path: [...issue.path] }),
  z.strictObject({
    type: z.literal("llama").describe("architecture"),
    ...llamaShape,
    vocabSize: llamaShape.vocabSize.optional().describe("V, tokens in the vocabulary. Default: that of the tokens"),
  }),
);

/** A model by the name of its shape, or by its shape: a GPT-2's, or with `type: "llama"` a Llama's. The vocabulary's size comes from the tokens where it isn't given. */
export const modelConfigSchema = z.union([z.enum(modelPresets).describe("a shape by name"), gpt2Fields, llamaFields], {
  error: `must be a shape by name (${modelPresets.join(", ")}) or an object such as { layers, hiddenSize, heads, sequenceLength }, with type "llama" for a Llama`,
});

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
  const { vocabSize: given = vocabSize, ...shape }: ShapeWithVocabulary = typeof config === "string" ? presets[config] : config;
  if (shape.type === "llama") {
    const { type: _type, ...fields } = shape;
    return llama({ ...fields, vocabSize: given });
  }
  const { type: _type, ...fields } = shape;
  return gpt2({ ...fields, vocabSize: given });
}
