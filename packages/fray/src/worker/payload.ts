import { deserialize, serialize } from "node:v8";
import { MarinError } from "@marin/ducky";

/**
 * A value as bytes, by the rules of structured clone: typed arrays, Maps, Dates, bigints, errors and cycles survive, a class
 * instance arrives as a plain object, functions are refused.
 *
 * @param what - names the value in the error
 * @throws MarinError FRAY_NOT_CLONABLE
 */
export function toPayload(value: unknown, what: string): Uint8Array {
  try {
    return serialize(value);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MarinError("FRAY_NOT_CLONABLE", `${what} cannot be sent between processes: ${why} Send plain data, and name functions by their module with entry().`, { data: { what }, cause });
  }
}

/** The value that bytes hold; they come from the same version of Node on the same machine. */
export function fromPayload(bytes: Uint8Array): unknown {
  return deserialize(bytes);
}
