import { DefaultDeserializer, serialize } from "node:v8";
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

/** Gives each typed array memory of its own: else all of a message would share one buffer, and handing over one would take the others along. */
class Reader extends DefaultDeserializer {
  // @ts-expect-error -- Node calls it; its types do not have it
  override _readHostObject(): unknown {
    const value: unknown = (DefaultDeserializer.prototype as unknown as { _readHostObject(this: Reader): unknown })._readHostObject.call(this);
    if (!ArrayBuffer.isView(value)) return value;
    const { buffer, byteOffset, byteLength } = value;
    const own = buffer.slice(byteOffset, byteOffset + byteLength);
    if (value instanceof DataView) return new DataView(own);
    return Buffer.isBuffer(value) ? Buffer.from(own) : Reflect.construct(value.constructor, [own]);
  }
}

/** The value that bytes hold; they come from a version of Node that this one can read. */
export function fromPayload(bytes: Uint8Array): unknown {
  const reader = new Reader(bytes);
  reader.readHeader();
  return reader.readValue();
}
