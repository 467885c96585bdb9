import type { ExperimentDefinition } from "../experiment-definition.js";
import { optionFields, type OptionField } from "../options/fields.js";
import { flagHelp } from "./arguments.js";
import { wrap } from "./format.js";

const WIDTH = 100;

/** The help of the command itself. */
export function commandHelp(): string {
  return `${flagHelp()}
Examples:
  pnpm experiment --list
  pnpm experiment first-lm
  pnpm experiment first-lm --help
  pnpm experiment first-lm --set train.steps=100 --set documents.source=./my-texts
  pnpm --silent experiment first-lm --json
`;
}

/** The help of one experiment: every option with type, default and description. */
export function experimentHelp(experiment: ExperimentDefinition): string {
  const lines = [`pnpm experiment ${experiment.name} [flags]`, "", ...wrap(experiment.summary, WIDTH), "", "Options of the experiment, given as --set path=value:"];
  for (const field of optionFields(experiment.options)) {
    lines.push(`  ${field.path}  <${field.type}>  ${defaultText(field)}`);
    lines.push(...wrap(field.description, WIDTH - 6).map((line) => `      ${line}`));
  }
  return `${lines.join("\n")}\n\nFlags:\n${flagHelp().split("Options:\n")[1] ?? ""}`;
}

/** What `--help --json` prints for one experiment. */
export function experimentHelpEvent(experiment: ExperimentDefinition): unknown {
  return {
    event: "help",
    experiment: experiment.name,
    summary: experiment.summary,
    options: optionFields(experiment.options).map(({ path, type, default: value, presetDefaults, description }) => ({
      path,
      type,
      default: value,
      presetDefaults,
      description,
    })),
  };
}

function defaultText(field: OptionField): string {
  if (field.default === undefined) return field.schema.safeParse(undefined).success ? "(optional)" : "(required)";
  const presets = Object.entries(field.presetDefaults).map(([preset, value]) => `, ${preset}: ${JSON.stringify(value)}`);
  return `(default ${JSON.stringify(field.default)}${presets.join("")})`;
}
