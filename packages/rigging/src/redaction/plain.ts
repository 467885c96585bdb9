import { namesSecret } from "./credential-patterns.js";
import type { Redactor } from "./redactor.js";

/** What JSON can hold. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain };

const maxDepth = 16;

/**
 * A copy of a value that JSON can hold and that people may see: without secrets, with errors as their name, code and message, large integers and
 * non-finite numbers as text, binary data as its size. What cannot be read (a getter that throws, a loop, nesting beyond 16) becomes a note.
 *
 * @param redactor - knows the secrets
 */
export function toPlain(value: unknown, redactor: Redactor): Plain {
  return convert(value, "", 0, new Set());

  function convert(item: unknown, key: string, depth: number, above: Set<object>): Plain {
    try {
      return convertUnsafely(item, key, depth, above);
    } catch (error) {
      return redactor.redact(`[cannot be written: ${error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : "unknown reason"}]`);
    }
  }

  function convertUnsafely(item: unknown, key: string, depth: number, above: Set<object>): Plain {
    if (typeof item === "string") return namesSecret(key) && item !== "" && !item.startsWith("[secret") ? "[secret]" : redactor.redact(item);
    if (typeof item === "number") return Number.isFinite(item) ? item : String(item);
    if (typeof item === "boolean" || item === null) return item;
    if (typeof item === "function") return redactor.redact(`[function ${item.name}]`);
    if (typeof item === "bigint" || typeof item === "symbol") return redactor.redact(String(item));
    if (typeof item !== "object") return null;
    if (above.has(item)) return "[cannot be written: it contains itself]";
    if (depth > maxDepth) return `[cannot be written: nested more than ${String(maxDepth)} deep]`;
    const inside = new Set(above).add(item);
    const own = (inner: unknown, name: string): Plain => convert(inner, name, depth + 1, inside);
    if (item instanceof Error) return errorFields(item, own);
    if (ArrayBuffer.isView(item)) return `[${item.constructor.name} of ${String(item.byteLength)} bytes]`;
    if ("toJSON" in item && typeof item.toJSON === "function") return own((item.toJSON as (key: string) => unknown)(key), key);
    if (item instanceof Map) return own(Object.fromEntries([...item].map(([name, inner]) => [String(name), inner as unknown])), key);
    if (Array.isArray(item) || item instanceof Set) return [...item].map((inner) => own(inner, key));
    const plain: Record<string, Plain> = {};
    for (const name of Object.keys(item)) {
      const inner = read(item, name);
      if (inner !== undefined && typeof inner !== "function") Object.defineProperty(plain, redactor.redact(name), { value: own(inner, name), enumerable: true, configurable: true, writable: true });
    }
    return plain;
  }

  function errorFields(error: Error, own: (inner: unknown, name: string) => Plain): Plain {
    const { code } = error as { readonly code?: unknown };
    return { name: error.name, ...(typeof code === "string" ? { code } : {}), message: own(error.message, "message") };
  }

  function read(item: object, name: string): unknown {
    try {
      return (item as Record<string, unknown>)[name];
    } catch (error) {
      return `[cannot be written: ${error instanceof Error ? error.message : "unknown reason"}]`;
    }
  }
}
