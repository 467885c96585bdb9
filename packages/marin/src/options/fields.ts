import { z } from "zod";

import { presetsOf } from "./presets.js";
import { sectionOf } from "./section.js";

/** One option of an experiment. */
export interface OptionField {
  /** Dotted path, as `--set` takes it. */
  readonly path: string;
  readonly schema: z.ZodType;
  /** What a value looks like, for people: "integer from 1", "quick | long". */
  readonly type: string;
  /** Default value; undefined when there is none. */
  readonly default: unknown;
  /** Other defaults, by the preset that sets them. */
  readonly presetDefaults: Readonly<Record<string, unknown>>;
  readonly description: string;
}

/** The options that a schema of nested objects holds, in the order of the schema. */
export function optionFields(schema: z.ZodType): OptionField[] {
  return walk(schema, [], {});
}

/** Preset values that apply below a section: preset name to values by field. */
type PresetLayer = Readonly<Record<string, unknown>>;

function walk(schema: z.ZodType, path: readonly string[], layers: PresetLayer): OptionField[] {
  const section = sectionOf(schema);
  if (section === undefined) return [field(schema, path, layers)];
  const presets = presetsOf(schema);
  const fields: OptionField[] = [];
  if (presets !== undefined) {
    const names = Object.keys(presets.values);
    fields.push({
      path: [...path, "preset"].join("."),
      schema: z.enum(names),
      type: names.join(" | "),
      default: presets.defaultPreset,
      presetDefaults: {},
      description: "Named set of defaults of this section; what is set explicitly wins.",
    });
  }
  for (const [name, child] of Object.entries(section.shape)) {
    const below: Record<string, unknown> = {};
    for (const [preset, values] of Object.entries(presets?.values ?? layers)) {
      const value = (values as Record<string, unknown>)[name];
      if (value !== undefined) below[preset] = value;
    }
    const fieldsBelow = walk(child as z.ZodType, [...path, name], below);
    fields.push(...fieldsBelow.map((f) => (presets === undefined ? f : withDefaultPreset(f, presets.defaultPreset))));
  }
  return fields;
}

/** Where the section's default preset sets the field, that is its default. */
function withDefaultPreset(field: OptionField, preset: string): OptionField {
  if (!Object.hasOwn(field.presetDefaults, preset)) return field;
  const { [preset]: value, ...others } = field.presetDefaults;
  return { ...field, default: value, presetDefaults: others };
}

function field(schema: z.ZodType, path: readonly string[], presetDefaults: PresetLayer): OptionField {
  const json = leafJsonSchema(schema);
  return { path: path.join("."), schema, type: typeText(json), default: json.default, presetDefaults, description: json.description ?? "" };
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

function leafJsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
}

/** What values a schema takes, for people. */
export function expectedText(schema: z.ZodType): string {
  return typeText(leafJsonSchema(schema));
}

function typeText(json: JsonSchema): string {
  if (json.enum !== undefined) return json.enum.map(String).join(" | ");
  if (json.const !== undefined) return String(json.const);
  if (json.anyOf !== undefined) return json.anyOf.map((option) => (typeof option === "boolean" ? "any" : typeText(option))).join(" | ");
  if (json.type === "integer" || json.type === "number") return `${json.type}${rangeText(json)}`;
  if (json.type === "array") return "JSON list";
  if (json.type === "object") return "JSON object";
  if (json.type === "string") return json.minLength === undefined || json.minLength === 0 ? "text" : "non-empty text";
  return typeof json.type === "string" ? json.type : "any";
}

function rangeText(json: JsonSchema): string {
  const low = json.minimum !== undefined && json.minimum > Number.MIN_SAFE_INTEGER ? ` from ${json.minimum}` : "";
  const above = json.exclusiveMinimum !== undefined ? ` above ${json.exclusiveMinimum}` : "";
  const high = json.maximum !== undefined && json.maximum < Number.MAX_SAFE_INTEGER ? ` to ${json.maximum}` : "";
  const below = json.exclusiveMaximum !== undefined ? ` below ${json.exclusiveMaximum}` : "";
  return `${low}${above}${high}${below}`;
}
