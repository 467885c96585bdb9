import { MarinError } from "@marin/rigging";

/** Codes of mistakes in how the command was called; they exit with 2. */
export const USAGE_CODES: ReadonlySet<string> = new Set([
  "MARIN_USAGE",
  "MARIN_UNKNOWN_EXPERIMENT",
  "MARIN_UNKNOWN_OPTION",
  "MARIN_OPTION_VALUE",
  "MARIN_UNKNOWN_STEP",
]);

/** A mistake in the command's arguments. */
export function usageError(message: string, data: Readonly<Record<string, unknown>> = {}): MarinError {
  return new MarinError("MARIN_USAGE", message, { data });
}
