import { MarinError } from "@marin/iris";
import type { Format, FormatInput, FormatSettings } from "./format.js";

/** @throws MarinError ZEPHYR_BAD_SETTING for a setting that the format does not have */
export function checkSettings(format: Format, settings: FormatSettings): void {
  const known = format.settings ?? [];
  for (const name of Object.keys(settings)) {
    if (known.includes(name)) continue;
    const there = known.length === 0 ? "it has none" : `it has ${known.join(", ")}`;
    throw new MarinError("ZEPHYR_BAD_SETTING", `The format "${format.name}" has no setting "${name}": ${there}.`, { data: { format: format.name, setting: name, settings: known } });
  }
}

/** @throws MarinError ZEPHYR_BAD_SETTING */
export function numberSetting(input: FormatInput, name: string, least: number): number | undefined {
  const value = input.settings[name];
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= least)) return value as number | undefined;
  throw badSetting(name, value, `a whole number of at least ${String(least)}`);
}

/** @throws MarinError ZEPHYR_BAD_SETTING */
export function textSetting(input: FormatInput, name: string, choices?: readonly string[]): string | undefined {
  const value = input.settings[name];
  if (value === undefined || (typeof value === "string" && (choices?.includes(value) ?? true))) return value;
  throw badSetting(name, value, choices === undefined ? "text" : `one of ${choices.map((choice) => `"${choice}"`).join(", ")}`);
}

/** @throws MarinError ZEPHYR_BAD_SETTING */
export function listSetting(input: FormatInput, name: string): readonly string[] | undefined {
  const value = input.settings[name];
  if (value === undefined || (Array.isArray(value) && value.every((item) => typeof item === "string"))) return value;
  throw badSetting(name, value, "a list of texts");
}

/** A setting that cannot be what it is. */
export function badSetting(name: string, value: unknown, right: string): MarinError {
  return new MarinError("ZEPHYR_BAD_SETTING", `The setting "${name}" has to be ${right}, found ${JSON.stringify(value) ?? String(value)}.`, { data: { setting: name } });
}
