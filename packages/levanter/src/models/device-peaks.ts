/**
 * Peak dense bfloat16 (or, where a device has none, float16) operations per second of one device, by a word of its name, from the vendors' data sheets
 * (NVIDIA gives figures with sparsity, which are halved here; TPU figures are per chip, of cloud.google.com/tpu/docs).
 */
const PEAKS: Readonly<Record<string, number>> = {
  b200: 2250e12,
  gb200: 2500e12,
  h200: 989.5e12,
  gh200: 989.5e12,
  h100: 989.5e12,
  a100: 312e12,
  a40: 149.7e12,
  a10: 125e12,
  a10g: 70e12,
  l40s: 362e12,
  l40: 181e12,
  l4: 121e12,
  v100: 125e12,
  t4: 65e12,
  mi300x: 1307.4e12,
  mi250x: 383e12,
  v6e: 918e12,
  v5p: 459e12,
  v5e: 197e12,
  v4: 275e12,
  v3: 123e12,
  v2: 46e12,
};

/** Names that drivers give, in the table's words. */
const ALIASES: readonly (readonly [RegExp, string])[] = [
  [/\bv5 ?lite(pod)?\b/, "v5e"],
  [/\bv6 ?lite(pod)?\b/, "v6e"],
];

/**
 * The peak rate of a device in floating-point operations per second, for {@link modelFlopsUtilization}; `undefined` for one that isn't in the table, a
 * CPU for instance: measure its matrix product instead.
 *
 * @param name - as a driver gives it (`"NVIDIA H100 80GB HBM3"`, `"TPU v4"`) or short (`"h100"`, `"v5p-8"`)
 */
export function devicePeakFlops(name: string): number | undefined {
  const plain = ALIASES.reduce((text, [pattern, word]) => text.replace(pattern, word), name.toLowerCase());
  // A cut-down variant has a peak of its own, which the word alone doesn't tell.
  const words = plain.split(/[^a-z0-9]+/);
  if (words.includes("h100") && words.includes("pcie")) return 756.5e12;
  if (words.includes("h100") && words.includes("nvl")) return 835e12;
  return words.map((word) => PEAKS[word]).find((peak) => peak !== undefined);
}

/** What {@link modelFlopsUtilization} is computed from. */
export interface UtilizationInput {
  /** Operations of a training step per token (`trainingFlopsPerToken`). */
  readonly flopsPerToken: number;
  /** Tokens of the step, over all devices. */
  readonly tokens: number;
  /** Duration of the step in seconds, without waiting for data and hooks. */
  readonly seconds: number;
  /** Peak rate of one device, operations per second (`devicePeakFlops`, or measured). */
  readonly peakFlops: number;
  /** Devices that share the step. Default 1. */
  readonly devices?: number;
}

/** Model FLOPs utilization in percent: operations that the model needs, over those that the devices could have made in that time (Chowdhery et al., PaLM, arXiv:2204.02311, appendix B). */
export function modelFlopsUtilization({ flopsPerToken, tokens, seconds, peakFlops, devices = 1 }: UtilizationInput): number {
  return (100 * flopsPerToken * tokens) / (seconds * peakFlops * devices);
}
