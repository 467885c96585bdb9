import { z } from "zod";

/** The fields of a configuration that say how positions turn the heads of queries and keys. */
export const ropeFields = {
  ropeTheta: z.number().positive().default(10_000).describe("base of the rotary embedding's wavelengths; Llama 3 has 500,000"),
  ropeScaling: z.enum(["default", "linear", "llama3"]).default("default").describe("how wavelengths are stretched for longer sequences: not at all, all by ropeFactor, or the long ones only"),
  ropeFactor: z.number().min(1).default(8).describe("wavelengths are stretched by this factor; 1 and more; not used by `default`"),
  ropeLowFrequencyFactor: z.number().positive().default(1).describe("llama3: wavelengths beyond ropeOriginalLength over this factor are stretched"),
  ropeHighFrequencyFactor: z.number().positive().default(4).describe("llama3: wavelengths below ropeOriginalLength over this factor stay; more than ropeLowFrequencyFactor"),
  ropeOriginalLength: z.int().positive().default(8192).describe("llama3: sequence length before stretching, in tokens"),
};

/** How positions turn heads; the fields of {@link ropeFields}. */
export type RopeConfig = { readonly [Field in keyof typeof ropeFields]: z.output<(typeof ropeFields)[Field]> };

/**
 * The K/2 angles per position, in radians: θ^(−2i/K) (Su et al., arXiv:2104.09864, section 3.2.2), stretched as configured. `linear` is position interpolation (Chen et al.,
 * arXiv:2306.15595); `llama3` leaves short wavelengths, stretches long ones and blends between, as Llama 3.1's published configuration describes it.
 *
 * @param headSize - K, even
 */
export function ropeFrequencies(config: RopeConfig, headSize: number): number[] {
  const plain = Array.from({ length: headSize / 2 }, (_unused, index) => config.ropeTheta ** ((-2 * index) / headSize));
  if (config.ropeScaling === "default") return plain;
  if (config.ropeScaling === "linear") return plain.map((frequency) => frequency / config.ropeFactor);
  return plain.map((frequency) => blended(config, frequency));
}

function blended({ ropeFactor, ropeLowFrequencyFactor: low, ropeHighFrequencyFactor: high, ropeOriginalLength }: RopeConfig, frequency: number): number {
  const turns = (ropeOriginalLength * frequency) / (2 * Math.PI);
  const kept = Math.min(1, Math.max(0, (turns - low) / (high - low)));
  return kept * frequency + ((1 - kept) * frequency) / ropeFactor;
}
