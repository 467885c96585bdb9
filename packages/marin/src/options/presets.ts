import { z } from "zod";

/** Named sets of defaults of one section of options. */
export interface Presets {
  readonly values: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly defaultPreset: string;
}

const registry = z.registry<Presets>();

/**
 * Adds a field `preset` to a section of options. The named preset's values take the place of the defaults; a field that is given wins over both.
 * The parsed section holds no `preset`, so two ways to the same values are the same configuration.
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
    const values = presets[String(preset)];
    if (values === undefined) {
      context.addIssue({ code: "invalid_value", values: names, path: ["preset"], input: preset });
      return z.NEVER;
    }
    return { ...values, ...given };
  }, schema);
  registry.add(section, { values: presets, defaultPreset });
  return section;
}

/** The presets of a section that {@link withPresets} made. */
export function presetsOf(schema: z.ZodType): Presets | undefined {
  return registry.get(schema);
}
