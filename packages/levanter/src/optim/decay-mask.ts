import { MarinError } from "@marin/iris";
import type { LanguageModel } from "../models/language-model.js";

/** Which parameters weight decay reaches. */
export interface DecayMaskOptions {
  /** A regular expression that matches from the beginning of a parameter's name, or parts of names. Default: the model's rule. */
  readonly weightDecayModules?: string | readonly string[] | undefined;
  /** True: what the model's rule names is decayed as well. Default: false. */
  readonly defaultWeightDecayMask?: boolean | undefined;
}

/**
 * Names of the parameters that weight decay reaches, sorted: those that the model's rule names (`isDecayed`: products' weights), or those that
 * `weightDecayModules` names. Throws `LEVANTER_CONFIG` for an expression that is none, and for one, or a part of names, that no parameter has: a
 * misspelt name must not switch decay off.
 */
export function decayedParameters(model: Pick<LanguageModel, "parameters" | "isDecayed">, options: DecayMaskOptions = {}): readonly string[] {
  const { weightDecayModules, defaultWeightDecayMask = false } = options;
  const names = Object.keys(model.parameters);
  const byRule = (name: string): boolean => model.isDecayed(name);
  if (weightDecayModules === undefined) return names.filter(byRule).sort();
  const tests = typeof weightDecayModules === "string" ? [matching(weightDecayModules)] : weightDecayModules.map(containing);
  for (const { what, test } of tests) {
    if (!names.some(test)) {
      throw new MarinError("LEVANTER_CONFIG", `weightDecayModules: ${what} matches no parameter; there are ${names.join(", ")}`, { data: { weightDecayModules, names } });
    }
  }
  return names.filter((name) => tests.some(({ test }) => test(name)) || (defaultWeightDecayMask && byRule(name))).sort();
}

/**
 * The weight decay of one update under AdamC (Defazio, "Why Gradients Rapidly Increase Near the End of Training", 2025): weightDecay · learningRate / peak,
 * so that with the decoupled decay's own factor the rate enters squared. 0 where the peak is 0.
 */
export function adamcWeightDecay(weightDecay: number, learningRate: number, peak: number): number {
  return peak === 0 ? 0 : (weightDecay * learningRate) / peak;
}

interface NameTest {
  readonly what: string;
  readonly test: (name: string) => boolean;
}

function matching(source: string): NameTest {
  let expression: RegExp;
  try {
    expression = new RegExp(`^(?:${source})`, "u");
  } catch (cause) {
    throw new MarinError("LEVANTER_CONFIG", `weightDecayModules: "${source}" is no regular expression: ${String(cause)}`, { data: { weightDecayModules: source }, cause });
  }
  return { what: `the expression "${source}"`, test: (name) => expression.test(name) };
}

function containing(part: string): NameTest {
  return { what: `"${part}"`, test: (name) => name.includes(part) };
}
