import { readFile } from "node:fs/promises";
import { MarinError } from "@marin/ducky";
import type { z } from "zod";
import { fileError } from "../files/file-error.js";
import { toPlain } from "../redaction/plain.js";
import { redactor } from "../redaction/redactor.js";
import { type ConfigField, configFields, fieldName, flagOf, valueOfText, variableOf } from "./fields.js";

/** Where a configuration's value came from. */
export type ConfigSource =
  | { readonly kind: "default" }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "env"; readonly variable: string }
  | { readonly kind: "flag"; readonly flag: string };

/** Where {@link loadConfig} looks, weakest first: the schema's defaults, then these. */
export interface ConfigSources {
  /** JSON files, later ones winning. One that is optional may be absent. Default: none. */
  readonly files?: readonly (string | { readonly path: string; readonly optional: boolean })[];
  /** Environment variables: `prefix` and the field's name, `IRIS_SERVER__MAX_CLIENTS` for server.maxClients. Default: none. */
  readonly env?: {
    /** What their names begin with, the last "_" included. No variable that means something else may begin with it. */
    readonly prefix: string;
    /** Default: the process's own. */
    readonly variables?: Readonly<Record<string, string | undefined>>;
  };
  /** Flags by field name ("server.maxClients"), as text or as values; undefined ones were not given. Default: none. */
  readonly flags?: Readonly<Record<string, unknown>>;
}

/** A configuration that was read and checked. */
export interface LoadedConfig<T> {
  /** The configuration. */
  readonly value: T;
  /** Where each of its values came from, by field name. */
  readonly provenance: ReadonlyMap<string, ConfigSource>;
  /** One line a value for people: `server.port = 8080 (IRIS_SERVER__PORT)`. */
  explain(): string;
}

/** Values and where they came from, by path. */
interface Layer {
  readonly source: ConfigSource;
  readonly path: readonly string[];
  readonly value: unknown;
}

/**
 * Reads a configuration from files, environment and flags, and checks it as a whole. Objects are merged field by field; arrays are replaced. What is not known is an
 * error wherever it stands, so that a typing mistake never goes unnoticed. Secrets are references: see `secretReference`.
 *
 * @param schema - `z.strictObject({ … })`
 * @param sources - where to look
 * @throws MarinError RIGGING_BAD_CONFIG, which names for each mistake the file and field, the variable, or the flag (`data.mistakes`); RIGGING_BAD_CONFIG_SCHEMA;
 * RIGGING_BAD_JSON; the file errors
 */
export async function loadConfig<Schema extends z.ZodType>(schema: Schema, sources: ConfigSources): Promise<LoadedConfig<z.output<Schema>>> {
  const fields = configFields(schema);
  const mistakes: string[] = [];
  const layers: Layer[] = [];
  for (const file of sources.files ?? []) layers.push(...(await readLayers(file)));
  layers.push(...variableLayers(fields, sources.env, mistakes), ...flagLayers(fields, sources.flags ?? {}, mistakes));

  const merged: Record<string, unknown> = {};
  const origins = new Map<string, ConfigSource>();
  for (const layer of layers) merge(merged, layer, origins);
  const result = schema.safeParse(merged);
  if (!result.success) mistakes.push(...result.error.issues.flatMap((issue) => describe(issue, origins, fields, sources)));
  if (mistakes.length > 0 || !result.success) {
    const told = [...new Set(mistakes)].map((mistake) => redactor.redact(mistake));
    throw new MarinError("RIGGING_BAD_CONFIG", `The configuration does not hold:\n${told.map((mistake) => `  ${mistake}`).join("\n")}`, { data: { mistakes: told } });
  }
  const provenance = new Map(leaves(result.data, []).map(({ path }) => [fieldName(path), nearest(origins, path) ?? { kind: "default" as const }]));
  return {
    value: result.data,
    provenance,
    explain: () => leaves(result.data, []).map(({ path, value }) => `${fieldName(path)} = ${JSON.stringify(toPlain(value, redactor))} (${sourceText(provenance.get(fieldName(path)) ?? { kind: "default" })})`).join("\n"),
  };
}

async function readLayers(file: string | { readonly path: string; readonly optional: boolean }): Promise<Layer[]> {
  const { path, optional } = typeof file === "string" ? { path: file, optional: false } : file;
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (optional && (error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw fileError(error, { action: "read", path });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // The parser's own message would show the text around the mistake.
    const [, position] = /position (\d+)/.exec(error instanceof Error ? error.message : "") ?? [];
    const line = position === undefined ? "" : `, line ${String(text.slice(0, Number(position)).split("\n").length)}`;
    throw new MarinError("RIGGING_BAD_JSON", `${path}${line}: this is not JSON.`, { data: { path } });
  }
  if (!isObject(value)) throw new MarinError("RIGGING_BAD_JSON", `${path}: a configuration is an object: { … }.`, { data: { path } });
  return [{ source: { kind: "file", path }, path: [], value }];
}

function variableLayers(fields: readonly ConfigField[], env: ConfigSources["env"], mistakes: string[]): Layer[] {
  if (env === undefined) return [];
  const { prefix, variables = process.env } = env;
  const known = new Map(fields.map((field) => [variableOf(prefix, field.path), field]));
  const given = Object.entries(variables).filter(([name, text]) => name.startsWith(prefix) && text !== undefined);
  return given.flatMap(([variable, text]) => {
    const field = known.get(variable);
    if (field !== undefined) return textLayer({ kind: "env", variable }, variable, text ?? "", field, mistakes);
    mistakes.push(`${variable}: there is no such variable; known are ${[...known.keys()].join(", ")}`);
    return [];
  });
}

function flagLayers(fields: readonly ConfigField[], flags: Readonly<Record<string, unknown>>, mistakes: string[]): Layer[] {
  const known = new Map(fields.map((field) => [fieldName(field.path), field]));
  return Object.entries(flags).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const field = known.get(name);
    const flag = flagOf(name.split("."));
    if (field === undefined) {
      mistakes.push(`${flag}: there is no such flag; known are ${fields.map(({ path }) => flagOf(path)).join(", ")}`);
      return [];
    }
    return typeof value === "string" ? textLayer({ kind: "flag", flag }, flag, value, field, mistakes) : [{ source: { kind: "flag", flag }, path: field.path, value }];
  });
}

function textLayer(source: ConfigSource, name: string, text: string, field: ConfigField, mistakes: string[]): Layer[] {
  const read = valueOfText(text, field);
  if ("value" in read) return [{ source, path: field.path, value: read.value }];
  mistakes.push(`${name}: ${field.secret ? "this" : JSON.stringify(text)} is not ${read.expected}`);
  return [];
}

function merge(target: Record<string, unknown>, { source, path, value }: Layer, origins: Map<string, ConfigSource>): void {
  const [name, ...rest] = path;
  if (name === undefined) {
    for (const [key, inner] of Object.entries(value as object)) mergeAt(target, key, inner, source, [key], origins);
    return;
  }
  const nested = rest.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  mergeAt(target, name, nested, source, [name], origins);
}

function mergeAt(target: Record<string, unknown>, key: string, value: unknown, source: ConfigSource, path: readonly string[], origins: Map<string, ConfigSource>): void {
  const present = Object.hasOwn(target, key) ? target[key] : undefined;
  const define = (own: unknown): unknown => Object.defineProperty(target, key, { value: own, enumerable: true, configurable: true, writable: true });
  if (isObject(value)) {
    const into = isObject(present) ? present : {};
    if (into !== present) {
      define(into);
      forget(origins, path);
    }
    if (Object.keys(value).length === 0 && !isObject(present)) origins.set(fieldName(path), source);
    for (const [name, inner] of Object.entries(value)) mergeAt(into, name, inner, source, [...path, name], origins);
    return;
  }
  define(value);
  forget(origins, path);
  origins.set(fieldName(path), source);
}

/** What a replaced value and its parts came from means nothing any more. */
function forget(origins: Map<string, ConfigSource>, path: readonly string[]): void {
  const name = fieldName(path);
  for (const known of [...origins.keys()]) if (known === name || known.startsWith(`${name}.`)) origins.delete(known);
}

function describe(issue: z.core.$ZodIssue, origins: ReadonlyMap<string, ConfigSource>, fields: readonly ConfigField[], sources: ConfigSources): string[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const path = [...issue.path, key];
      const siblings = fields.filter((field) => fieldName(field.path.slice(0, issue.path.length)) === fieldName(issue.path)).map((field) => field.path[issue.path.length]);
      return `${place(nearest(origins, path) ?? beneath(origins, path), path)} there is no such field; known are ${[...new Set(siblings)].join(", ")}`;
    });
  }
  const source = nearest(origins, issue.path) ?? beneath(origins, issue.path);
  if (source !== undefined) return [`${place(source, issue.path)} ${issue.message}`];
  const path = issue.path.map(String);
  const [file] = (sources.files ?? []).slice(-1);
  const ways = [
    ...(file === undefined ? [] : [`in ${typeof file === "string" ? file : file.path}`]),
    ...(sources.env === undefined ? [] : [`as ${variableOf(sources.env.prefix, path)}`]),
    ...(sources.flags === undefined ? [] : [`as ${flagOf(path)}`]),
  ];
  return [`${fieldName(path)}: it is not set (${issue.message}); set it ${ways.join(", or ") || "somewhere"}`];
}

function place(source: ConfigSource | undefined, path: readonly PropertyKey[]): string {
  if (source?.kind === "file") return `${source.path}, field ${fieldName(path)}:`;
  return source === undefined || source.kind === "default" ? `${fieldName(path)}:` : `${sourceText(source)} (field ${fieldName(path)}):`;
}

function sourceText(source: ConfigSource): string {
  return source.kind === "file" ? source.path : source.kind === "env" ? source.variable : source.kind === "flag" ? source.flag : "default";
}

/** The source of the value, or of the object or array that holds it. */
function nearest(origins: ReadonlyMap<string, ConfigSource>, path: readonly PropertyKey[]): ConfigSource | undefined {
  for (let length = path.length; length > 0; length--) {
    const found = origins.get(fieldName(path.slice(0, length)));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The source of the last part that an object was given. */
function beneath(origins: ReadonlyMap<string, ConfigSource>, path: readonly PropertyKey[]): ConfigSource | undefined {
  const prefix = path.length === 0 ? "" : `${fieldName(path)}.`;
  return path.length === 0 ? undefined : [...origins].filter(([name]) => name.startsWith(prefix)).at(-1)?.[1];
}

function leaves(value: unknown, path: readonly string[]): { readonly path: readonly string[]; readonly value: unknown }[] {
  if (!isObject(value) || Object.keys(value).length === 0) return path.length === 0 ? [] : [{ path, value }];
  return Object.entries(value).flatMap(([name, inner]) => leaves(inner, [...path, name]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
}
