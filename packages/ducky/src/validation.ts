import type { Schema, SchemaIssue, SchemaResult } from "./contract.js";
import { MarinError } from "./errors.js";

/** Issues named in an error. */
const maxIssues = 5;

/** Whether a value is an argument or an answer. */
export type Direction = "input" | "output";

/**
 * What the schema makes of the value. A promise only when the schema answers with one, so that calls keep their order.
 *
 * @throws MarinError DUCKY_INVALID_INPUT or DUCKY_INVALID_OUTPUT naming service, method and field
 */
export function validate(schema: Schema, value: unknown, direction: Direction, service: string, method: string): unknown {
  const result = schema["~standard"].validate(value);
  return result instanceof Promise ? result.then((checked) => valueOf(checked, direction, service, method)) : valueOf(result, direction, service, method);
}

function valueOf(result: SchemaResult<unknown>, direction: Direction, service: string, method: string): unknown {
  if (result.issues === undefined) return result.value;
  throw invalid(result.issues, direction, service, method);
}

function invalid(issues: readonly SchemaIssue[], direction: Direction, service: string, method: string): MarinError {
  const named = issues.slice(0, maxIssues).map(({ message, path }) => ({
    path: (path ?? []).map((key) => String(typeof key === "object" ? key.key : key)).join("."),
    message,
  }));
  const text = named.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
  const more = issues.length > maxIssues ? ` (and ${issues.length - maxIssues} more)` : "";
  return new MarinError(
    direction === "input" ? "DUCKY_INVALID_INPUT" : "DUCKY_INVALID_OUTPUT",
    `The ${direction} of ${service}.${method} is not what its contract says: ${text}${more}.`,
    { data: { service, method, issues: named } },
  );
}
