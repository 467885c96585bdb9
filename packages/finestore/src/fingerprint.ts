import { MarinError } from "@marin/rigging";
import { createHash } from "node:crypto";

/** What determines an artifact's content. */
export interface FingerprintParts {
  /** The step that produces it, for example "tokens". */
  readonly name: string;
  /** Version of the step's code: change it when the same configuration gives other content than before. */
  readonly version: string;
  /** Every setting that changes the content. Plain JSON values; a key whose value is undefined counts as absent. */
  readonly config: unknown;
  /** Fingerprints of the artifacts it is made from, by role. */
  readonly inputs: Readonly<Record<string, string>>;
}

/**
 * The identity of an artifact: equal parts give equal fingerprints on every machine, whatever the order of keys; any
 * difference gives another one.
 *
 * @returns SHA-256 of the parts' canonical JSON, 64 hexadecimal digits
 * @throws MarinError FINESTORE_NOT_JSON when the configuration holds something JSON has no form for; names the field
 */
export function fingerprint(parts: FingerprintParts): string {
  const { name, version, config, inputs } = parts;
  return sha256(canonicalJson({ name, version, config, inputs }));
}

/** SHA-256 of a text's UTF-8 bytes, 64 hexadecimal digits. */
export function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/**
 * JSON without white space and with keys in code-unit order, so that equal values have equal text.
 *
 * @throws MarinError FINESTORE_NOT_JSON for functions, symbols, bigints, NaN, infinities, class instances, loops
 */
export function canonicalJson(value: unknown): string {
  return write(value, "", new Set());
}

function write(value: unknown, path: string, around: Set<object>): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw notJson(path, String(value));
    return JSON.stringify(value);
  }
  if (typeof value !== "object") throw notJson(path, `a ${typeof value}`);
  if (around.has(value)) throw notJson(path, "a loop");
  around.add(value);
  const text = Array.isArray(value)
    ? `[${Array.from(value as unknown[], (item, index) => write(item, `${path}[${String(index)}]`, around)).join(",")}]`
    : writeRecord(value, path, around);
  around.delete(value);
  return text;
}

function writeRecord(value: object, path: string, around: Set<object>): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw notJson(path, `a ${value.constructor.name}`);
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${write(field, path === "" ? key : `${path}.${key}`, around)}`);
  return `{${fields.join(",")}}`;
}

function notJson(path: string, found: string): MarinError {
  const field = path === "" ? "(the whole value)" : path;
  return new MarinError("FINESTORE_NOT_JSON", `${field} must be a plain JSON value (text, finite number, boolean, null, list, object), found ${found}.`, {
    data: { field, found },
  });
}
