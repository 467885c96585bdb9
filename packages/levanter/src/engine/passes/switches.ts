import { MarinError } from "@marin/iris";
import type { Rule } from "./rewrite.js";

/** Environment variable with the names of rules that are left out, separated by commas: to measure what each gains. Results' last bits may differ without a rule. */
const VARIABLE = "MARIN_ENGINE_WITHOUT";

/** Every rule that can be left out, by the name under which the variable lists it. */
const switchable = new Set<string>();

/** Rules by name, as the list of those that the environment does not switch off at the time of the call. */
export function switchableRules(rules: Readonly<Record<string, Rule>>): () => readonly Rule[] {
  for (const name of Object.keys(rules)) switchable.add(name);
  return () => {
    const without = (process.env[VARIABLE] ?? "").split(",").map((name) => name.trim()).filter((name) => name !== "");
    const unknown = without.find((name) => !switchable.has(name));
    if (unknown !== undefined) {
      throw new MarinError("LEVANTER_CONFIG", `${VARIABLE} names "${unknown}"; the rules that can be left out are ${[...switchable].sort().join(", ")}`, { data: { variable: VARIABLE, unknown } });
    }
    return Object.entries(rules).flatMap(([name, rule]) => (without.includes(name) ? [] : [rule]));
  };
}
