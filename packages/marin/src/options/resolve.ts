import { MarinError } from "@marin/rigging";
import type { z } from "zod";

import { expectedText, optionFields, type OptionField } from "./fields.js";
import { nearestPath } from "./nearest.js";
import { sectionOf } from "./section.js";

/**
 * The options of an experiment: defaults, then presets, then assignments of the form `path.to.option=value`, each typed by the schema.
 *
 * @throws MarinError `MARIN_UNKNOWN_OPTION` naming the nearest path, `MARIN_OPTION_VALUE` naming path, what was expected and what was given
 */
export function resolveOptions<Options>(schema: z.ZodType<Options>, assignments: readonly string[]): Options {
  const fields = optionFields(schema);
  const raw = emptySections(schema);
  for (const assignment of assignments) {
    const { field, value } = readAssignment(assignment, fields);
    assign(raw, field.path.split("."), value);
  }
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".") || "options"}: ${issue.message}`);
  throw new MarinError("MARIN_OPTION_VALUE", `these options do not fit together: ${problems.join("; ")}`, {
    data: { paths: parsed.error.issues.map((issue) => issue.path.join(".")) },
  });
}

function readAssignment(assignment: string, fields: readonly OptionField[]): { field: OptionField; value: unknown } {
  const equals = assignment.indexOf("=");
  if (equals <= 0) {
    throw new MarinError("MARIN_OPTION_VALUE", `--set ${assignment}: expected path.to.option=value, for example --set ${fields[0]?.path ?? "train.steps"}=...`);
  }
  const path = assignment.slice(0, equals).trim();
  const text = assignment.slice(equals + 1);
  const field = fields.find((candidate) => candidate.path === path);
  if (field === undefined) throw unknownOption(path, fields);
  return { field, value: readValue(field, text) };
}

function unknownOption(path: string, fields: readonly OptionField[]): MarinError {
  const paths = fields.map((field) => field.path);
  const inside = paths.filter((candidate) => candidate.startsWith(`${path}.`));
  const near = nearestPath(path, paths);
  const advice =
    inside.length > 0
      ? `it is a section; set one of ${inside.join(", ")}`
      : near === undefined
        ? "this experiment has no options"
        : `did you mean ${near}? (--help lists all options)`;
  return new MarinError("MARIN_UNKNOWN_OPTION", `--set ${path}: there is no option ${path}: ${advice}`, {
    data: { path, nearest: inside[0] ?? near },
  });
}

function readValue(field: OptionField, text: string): unknown {
  const reasons: string[] = [];
  for (const candidate of readings(field.schema, text)) {
    const parsed = field.schema.safeParse(candidate);
    if (parsed.success) return candidate;
    reasons.push(...parsed.error.issues.map((issue) => issue.message));
  }
  const expected = expectedText(field.schema);
  // A refinement's own words say more than the type does.
  const custom = reasons.find((reason) => !/^(Invalid|Too (small|big))/.test(reason));
  throw new MarinError(
    "MARIN_OPTION_VALUE",
    `--set ${field.path}: expected ${expected}${custom === undefined ? "" : ` (${custom})`}, got ${JSON.stringify(text)}`,
    { data: { path: field.path, expected, got: text } },
  );
}

/** The values that a text may stand for, the most specific first; the schema decides. */
function* readings(schema: z.ZodType, text: string): Generator {
  const json: unknown = parseJson(text);
  if (typeof json === "object" || typeof json === "boolean") yield json;
  const trimmed = text.trim();
  if (trimmed !== "" && Number.isFinite(Number(trimmed)) && !acceptsText(schema)) yield Number(trimmed);
  yield text;
}

function acceptsText(schema: z.ZodType): boolean {
  return schema.safeParse("").success || schema.safeParse("text").success;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An object with an empty object for each section, so that sections need no default of their own. */
function emptySections(schema: z.ZodType): Record<string, unknown> {
  const sections: Record<string, unknown> = {};
  for (const [name, child] of Object.entries(sectionOf(schema)?.shape ?? {})) {
    if (sectionOf(child as z.ZodType) !== undefined) sections[name] = emptySections(child as z.ZodType);
  }
  return sections;
}

function assign(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first, ...rest] = path;
  if (first === undefined) return;
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const below = (target[first] ?? {}) as Record<string, unknown>;
  target[first] = below;
  assign(below, rest, value);
}
