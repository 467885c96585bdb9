import { MarinError } from "@marin/ducky";
import { z } from "zod";
import { namesSecret } from "../redaction/credential-patterns.js";
import { secretReferenceMark } from "./secret-reference.js";

/** A field of a configuration that a variable or a flag can set as a whole. */
export interface ConfigField {
  /** Names from the outermost object inwards. */
  readonly path: readonly string[];
  /** Kinds of values that it takes: "number", "boolean", "string", "array", "object", "null". */
  readonly types: readonly string[];
  /** Whether it says where a secret is. */
  readonly secret: boolean;
}

/** As much of JSON Schema as is looked at. */
interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly [secretReferenceMark]?: unknown;
}

/**
 * The fields of a configuration's schema, those of nested objects apart.
 *
 * @throws MarinError RIGGING_BAD_CONFIG_SCHEMA for a schema that is no object, or a field that by its name holds a secret and would take it literally
 */
export function configFields(schema: z.ZodType): readonly ConfigField[] {
  const root = z.toJSONSchema(schema, { io: "input", unrepresentable: "any", reused: "inline" }) as JsonSchema;
  if (root.properties === undefined) throw new MarinError("RIGGING_BAD_CONFIG_SCHEMA", "A configuration's schema must be an object: z.strictObject({ … }).");
  return walk(root, []);
}

function walk(schema: JsonSchema, path: readonly string[]): ConfigField[] {
  const secret = schema[secretReferenceMark] === true;
  if (schema.properties !== undefined && !secret) return Object.entries(schema.properties).flatMap(([name, inner]) => walk(inner, [...path, name]));
  const name = path.at(-1) ?? "";
  const types = typesOf(schema);
  if (!secret && namesSecret(name) && (types.includes("string") || types.length === 0)) {
    throw new MarinError("RIGGING_BAD_CONFIG_SCHEMA", `The field ${path.join(".")} holds a secret by its name, and would take it literally: make it secretReference().`, { data: { field: path.join(".") } });
  }
  return [{ path, types, secret }];
}

function typesOf(schema: JsonSchema): readonly string[] {
  if (schema.type !== undefined) return [schema.type].flat().map((type) => (type === "integer" ? "number" : type));
  const values = schema.enum ?? ("const" in schema ? [schema.const] : []);
  const inner = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].flatMap(typesOf);
  return [...new Set([...values.map((value) => (value === null ? "null" : typeof value)), ...inner])];
}

/** What a field is called in a message: "server.maxClients". */
export function fieldName(path: readonly PropertyKey[]): string {
  return path.map(String).join(".");
}

/** The environment variable of a field: "server.maxClients" is PREFIX_SERVER__MAX_CLIENTS. */
export function variableOf(prefix: string, path: readonly string[]): string {
  return prefix + path.map((name) => name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replaceAll(/[^A-Za-z0-9]/g, "_").toUpperCase()).join("__");
}

/** The flag of a field: "server.maxClients" is --server.max-clients. */
export function flagOf(path: readonly string[]): string {
  return `--${path.map((name) => name.replace(/([a-z0-9])([A-Z])/g, "$1-$2").toLowerCase()).join(".")}`;
}

/**
 * The value that a variable's or a flag's text stands for: a number, true or false, JSON for objects, JSON or items between commas for arrays, text for texts.
 *
 * @returns the value, or what would be right
 */
export function valueOfText(text: string, { types }: ConfigField): { readonly value: unknown } | { readonly expected: string } {
  const has = (type: string): boolean => types.includes(type);
  if (has("null") && text === "null") return { value: null };
  if (has("boolean") && (text === "true" || text === "false")) return { value: text === "true" };
  if (has("number") && /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(text)) return { value: Number(text) };
  if ((has("array") || has("object") || types.length === 0) && /^\s*[[{]/.test(text)) {
    try {
      return { value: JSON.parse(text) as unknown };
    } catch {
      return { expected: "JSON" };
    }
  }
  if (has("string") || types.length === 0) return { value: text };
  if (has("array")) return { value: text.split(",").map((item) => item.trim()).filter((item) => item !== "") };
  return { expected: types.map((type) => ({ number: "a number", boolean: "true or false", object: "an object as JSON", null: "null" })[type] ?? type).join(" or ") };
}
