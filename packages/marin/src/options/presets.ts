import { z } from "zod";

import { sectionOf } from "./section.js";

/** Named sets of defaults of one section of options. */
export interface Presets {
  readonly values: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly defaultPreset: string;
}

const registry = z.registry<Presets>();

/**
 * Adds a field `preset` to a section of options. The named preset's values take the place of the defaults; a field that is given wins over both,
 * inside nested sections too. The parsed section holds no `preset`, so two ways to the same values are the same configuration.
 *
 * ```ts
 * train: withPresets(trainOptions, { quick: { steps: 300 }, long: { steps: 6000 } }, "quick")
 * ```
 *
 * @param schema - a strict object whose fields all have defaults
 * @param presets - values by preset name
 * @param defaultPreset - used when `preset` is not given
 */
export function withPresets<Schema extends z.ZodObject, Values extends Readonly<Record<string, Partial<z.input<Schema>>>>>(
  schema: Schema,
  presets: Values,
  defaultPreset: keyof Values & string,
): z.ZodType<z.output<Schema>> {
  const names = Object.keys(presets);
  const section = z.preprocess((raw, context) => {
    if (typeof raw !== "object" || raw === null) return raw;
    const { preset = defaultPreset, ...given } = raw as Record<string, unknown>;
    const values = Object.hasOwn(presets, String(preset)) ? presets[String(preset)] : undefined;
    if (values === undefined) {
      context.addIssue({ code: "invalid_value", values: names, path: ["preset"], input: preset });
      return z.NEVER;
    }
    return mergeSection(schema, values, given);
  }, schema);
  registry.add(section, { values: presets, defaultPreset });
  return section;
}

/** The presets of a section that {@link withPresets} made. */
export function presetsOf(schema: z.ZodType): Presets | undefined {
  return registry.get(schema);
}

/** The preset's values and what is given, field by field; what is given wins. Only sections are merged: an object that is one option's value is taken whole. */
function mergeSection(schema: z.ZodObject, values: Readonly<Record<string, unknown>>, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...values, ...given };
  for (const [name, child] of Object.entries(schema.shape)) {
    const section = sectionOf(child as z.ZodType);
    if (section !== undefined && isObject(values[name]) && isObject(given[name])) merged[name] = mergeSection(section, values[name], given[name]);
  }
  return merged;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
