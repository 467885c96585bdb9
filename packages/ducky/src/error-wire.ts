import { isMarinError, MarinError } from "./errors.js";

/** Longest cause chain that is sent; a longer one is cut, which also ends a chain that loops. */
const maxCauses = 8;

/** Levels of nesting of `data` that are sent; deeper values are replaced by "[nested too deeply]". */
const maxDataDepth = 8;

/** The language's own classes: an error of theirs is one again where it arrives. */
const builtIn: ReadonlyMap<string, ErrorConstructor> = new Map([TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError].map((type) => [type.name, type]));

/** A JSON value. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** An error as plain JSON: class name, code, message, data and causes; never a stack. */
export interface WireError {
  /** Name of the error's class, for example "MarinError" or "TypeError". */
  readonly name: string;
  /** The message. */
  readonly message: string;
  /** A MarinError's code, or the `code` string of a system error ("ENOENT"). Absent when the error has none. */
  readonly code?: string;
  /** A MarinError's data. Present exactly when the error is a MarinError. */
  readonly data?: { readonly [key: string]: JsonValue };
  /** The cause, when there is one. */
  readonly cause?: WireError;
}

/**
 * Turns anything thrown into plain JSON that can cross a process border. Stacks are left out: they name paths of the
 * sender's machine and may quote arguments. Values JSON has no form for become strings.
 *
 * @param error - anything that was thrown; a value that is no Error becomes an Error with that value as its message
 */
export function errorToWire(error: unknown): WireError {
  return toWire(error, 0);
}

/**
 * The error a {@link WireError} describes: a MarinError where one was sent (same name, code, data), one of the language's own classes
 * where one of those was (an aborted signal's and a timeout's DOMException too), else an Error with the sender's name, message and code;
 * causes included. Its stack is the receiver's.
 *
 * @param wire - a received message, not trusted
 * @throws MarinError DUCKY_BAD_WIRE_ERROR when `wire` has not the form of a WireError; names the field
 */
export function errorFromWire(wire: unknown): Error {
  return fromWire(wire, "error", 0);
}

/** Whatever was thrown: a caller must have its answer also where reading the error fails. */
function toWire(error: unknown, depth: number): WireError {
  try {
    return describe(error, depth);
  } catch {
    return { name: "Error", message: "[what was thrown cannot be read]" };
  }
}

function describe(error: unknown, depth: number): WireError {
  if (!(error instanceof Error) && !isMarinError(error)) return { name: "Error", message: textOf(error) };
  const code = (error as { readonly code?: unknown }).code;
  return {
    // Anybody may set them to something else.
    name: typeof error.name === "string" ? error.name : "Error",
    message: textOf(error.message),
    ...(typeof code === "string" ? { code } : {}),
    ...(isMarinError(error) ? { data: recordToJson(error.data, 0) } : {}),
    ...(error.cause !== undefined && depth < maxCauses ? { cause: toWire(error.cause, depth + 1) } : {}),
  };
}

function textOf(value: unknown): string {
  const json = toJson(value, 0);
  return typeof json === "string" ? json : JSON.stringify(json);
}

function recordToJson(record: object, depth: number): { readonly [key: string]: JsonValue } {
  const json: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(record)) {
    if (value === undefined) continue;
    // defineProperty, because assigning to "__proto__" would set the prototype.
    Object.defineProperty(json, key, { value: toJson(value, depth + 1), enumerable: true, writable: true, configurable: true });
  }
  return json;
}

function toJson(value: unknown, depth: number): JsonValue {
  switch (typeof value) {
    case "boolean":
    case "string":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
    case "symbol":
    case "undefined":
    case "function":
      return String(value);
    case "object":
      return value === null ? null : objectToJson(value, depth);
  }
}

function objectToJson(value: object, depth: number): JsonValue {
  if (depth >= maxDataDepth) return "[nested too deeply]";
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if ("toJSON" in value && typeof value.toJSON === "function") return toJson(Reflect.apply(value.toJSON, value, []), depth + 1);
  if (Array.isArray(value)) return value.map((item: unknown) => toJson(item, depth + 1));
  return recordToJson(value, depth);
}

/** With its cause set afterwards: the types of browsers, which some programs load, know of no options. */
function domException(message: string, name: string, options: { readonly cause?: Error }): DOMException {
  const error = new DOMException(message, name);
  if (options.cause !== undefined) Object.defineProperty(error, "cause", { value: options.cause, writable: true, configurable: true });
  return error;
}

function fromWire(wire: unknown, field: string, depth: number): Error {
  const { name, message, code, data, cause } = checked(wire, field);
  const options = cause !== undefined && depth < maxCauses ? { cause: fromWire(cause, `${field}.cause`, depth + 1) } : {};
  if (name === "AbortError" || name === "TimeoutError") return domException(message, name, options);
  const error =
    code !== undefined && data !== undefined
      ? new MarinError(code, message, { ...options, data })
      : Object.assign(new (builtIn.get(name) ?? Error)(message, options), code === undefined ? {} : { code });
  // As the class itself has it: a property that does not show up when the error is printed or enumerated.
  if (error.name !== name) Object.defineProperty(error, "name", { value: name, writable: true, configurable: true });
  return error;
}

function checked(wire: unknown, field: string): WireError {
  if (!isRecord(wire)) throw badWire(field, "an object", wire);
  for (const key of ["name", "message"]) {
    if (typeof wire[key] !== "string") throw badWire(`${field}.${key}`, "a string", wire[key]);
  }
  if (wire["code"] !== undefined && typeof wire["code"] !== "string") throw badWire(`${field}.code`, "a string", wire["code"]);
  if (wire["data"] !== undefined) {
    if (!isRecord(wire["data"])) throw badWire(`${field}.data`, "an object", wire["data"]);
    if (wire["code"] === undefined) throw badWire(`${field}.code`, "a string, because there is data", undefined);
  }
  return wire as unknown as WireError;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function badWire(field: string, expected: string, found: unknown): MarinError {
  const kind = found === null ? "null" : Array.isArray(found) ? "an array" : typeof found;
  return new MarinError("DUCKY_BAD_WIRE_ERROR", `A received error is malformed: ${field} must be ${expected}, found ${kind}.`, {
    data: { field, expected, found: kind },
  });
}
