import { isUtf8 } from "node:buffer";
import {
  type ByteRange,
  type ColumnChunk,
  convertedTypes,
  type FileMetadata,
  type LogicalType,
  physicalTypes,
  repetitions,
  type RowGroup,
  type SchemaElement,
  type SchemaNode,
  type StoredStatistics,
  timeUnits,
} from "./format.js";
import { asBuffer } from "../as-buffer.js";
import { ThriftReader, type ThriftStruct, type ThriftValue } from "./thrift.js";

/** Deeper schemas are refused: each level is a call on the stack. */
const mostDepth = 60;

/** An encrypted column: nothing of it can be read. */
export class EncryptedColumn extends Error {}

/**
 * Reads a table of contents.
 *
 * @throws Error saying what does not fit together; EncryptedColumn
 */
export function parseMetadata(bytes: Uint8Array): FileMetadata {
  const file = new ThriftReader(bytes).struct();
  const elements = structs(file, 2, "schema").map(schemaElement);
  const { root, leaves } = schemaTree(elements);
  const groups = structs(file, 4, "row groups").map((group, index) => rowGroup(group, index, leaves));
  const notes = optionalStructs(file, 5).map((note) => [text(note, 1, "note"), optionalText(note, 2) ?? ""] as const);
  return { root, leaves, rows: count(file, 3, "number of rows"), groups, notes: Object.fromEntries(notes) };
}

function schemaElement(field: ThriftStruct): SchemaElement {
  const physical = optionalNumber(field, 1);
  const repetition = optionalNumber(field, 3) ?? 0;
  const [length, children, converted, scale, precision] = [2, 5, 6, 7, 8].map((id) => optionalNumber(field, id));
  const logical = optionalStruct(field, 10);
  const known = logical === undefined ? undefined : logicalType(logical);
  return {
    name: text(field, 4, "name of a column"),
    repetition: named(repetitions, repetition, "repetition"),
    ...(physical === undefined ? {} : { physical: named(physicalTypes, physical, "type") }),
    ...(length === undefined ? {} : { length }),
    ...(children === undefined ? {} : { children }),
    ...(converted === undefined || convertedTypes[converted] === undefined ? {} : { converted: convertedTypes[converted] }),
    ...(scale === undefined ? {} : { scale }),
    ...(precision === undefined ? {} : { precision }),
    ...(known === undefined ? {} : { logical: known }),
  };
}

const plainAnnotations = {
  1: "STRING",
  2: "MAP",
  3: "LIST",
  4: "ENUM",
  6: "DATE",
  11: "NULL",
  12: "JSON",
  13: "BSON",
  14: "UUID",
  15: "FLOAT16",
  16: "VARIANT",
  17: "GEOMETRY",
  18: "GEOGRAPHY",
} as const;

function logicalType(union: ThriftStruct): LogicalType | undefined {
  const [found] = union;
  if (found === undefined) return undefined;
  const [id, value] = found;
  const kind = plainAnnotations[id as keyof typeof plainAnnotations];
  if (kind !== undefined) return { kind };
  const parts = asStruct(value, "annotation");
  if (id === 5) return { kind: "DECIMAL", scale: optionalNumber(parts, 1) ?? 0, precision: optionalNumber(parts, 2) ?? 0 };
  if (id === 7 || id === 8) {
    const unit = [...(optionalStruct(parts, 2)?.keys() ?? [])][0] ?? 0;
    return { kind: id === 7 ? "TIME" : "TIMESTAMP", utc: optionalNumber(parts, 1) === 1, unit: named(timeUnits, unit - 1, "unit of time") };
  }
  if (id === 10) return { kind: "INTEGER", bits: optionalNumber(parts, 1) ?? 0, signed: optionalNumber(parts, 2) === 1 };
  return undefined;
}

/**
 * The tree that a list of elements tells, and its leaves.
 *
 * @throws Error where they do not make up a tree
 */
export function schemaTree(elements: readonly SchemaElement[]): { root: SchemaNode; leaves: SchemaNode[] } {
  const leaves: SchemaNode[] = [];
  let next = 0;
  const node = (path: readonly string[], above: { readonly definition: number; readonly repetition: number }, depth: number): SchemaNode => {
    const element = elements[next++];
    if (element === undefined) throw new Error("the schema ends before all of its columns are there");
    if (depth > mostDepth) throw new Error(`the schema is nested more than ${String(mostDepth)} deep`);
    const isRoot = depth === 0;
    const own = isRoot ? path : [...path, element.name];
    const definition = above.definition + Number(!isRoot && element.repetition !== "REQUIRED");
    const repetition = above.repetition + Number(!isRoot && element.repetition === "REPEATED");
    const firstLeaf = leaves.length;
    const children: SchemaNode[] = [];
    for (let child = 0; child < (element.children ?? 0); child += 1) children.push(node(own, { definition, repetition }, depth + 1));
    const made = { element, path: own, children, definition, repetition, firstLeaf, leaves: children.length === 0 && !isRoot ? 1 : leaves.length - firstLeaf };
    if (made.children.length > 0 || isRoot) return made;
    if (element.physical === undefined) throw new Error(`the column ${own.join(".")} has no type`);
    if (element.physical === "FIXED_LEN_BYTE_ARRAY" && !((element.length ?? 0) >= 1)) throw new Error(`the column ${own.join(".")} has values of ${String(element.length)} bytes`);
    leaves.push(made);
    return made;
  };
  const root = node([], { definition: 0, repetition: 0 }, 0);
  if (next !== elements.length) throw new Error("the schema has elements that stand below no other");
  return { root, leaves };
}

function rowGroup(group: ThriftStruct, index: number, leaves: readonly SchemaNode[]): RowGroup {
  const chunks = structs(group, 1, "columns of a row group");
  if (chunks.length !== leaves.length) throw new Error(`row group ${String(index)} has ${String(chunks.length)} columns, and the schema ${String(leaves.length)}`);
  return { rows: count(group, 3, "number of rows of a row group"), columns: chunks.map((chunk, column) => columnChunk(chunk, index, leaves[column] as SchemaNode)) };
}

function columnChunk(chunk: ThriftStruct, group: number, leaf: SchemaNode): ColumnChunk {
  const column = optionalStruct(chunk, 3);
  if (column === undefined || chunk.has(9)) throw new EncryptedColumn();
  const path = list(column, 3, "path of a column").map((part) => decode(part, "path of a column"));
  const name = path.join(".");
  if (chunk.has(1)) throw new Error(`the column ${name} lies in another file`);
  const physical = named(physicalTypes, number(column, 1, "type of a column"), "type");
  if (path.length !== leaf.path.length || path.some((part, at) => part !== leaf.path[at]) || physical !== leaf.element.physical) {
    throw new Error(`row group ${String(group)} has a column ${name} of type ${physical} where the schema has ${leaf.path.join(".")} of type ${leaf.element.physical ?? ""}`);
  }
  const dataStart = count(column, 9, "place of a column");
  // Some writers say 0 where there is no dictionary.
  const start = optionalNumber(column, 11) || dataStart;
  const statistics = optionalStruct(column, 12);
  return {
    path,
    physical,
    codec: number(column, 4, "codec of a column"),
    values: count(column, 5, "number of values"),
    unpackedBytes: count(column, 6, "unpacked size of a column"),
    range: { start, end: start + count(column, 7, "size of a column") },
    dataStart,
    statistics: statistics === undefined ? undefined : storedStatistics(statistics, leaf.element),
    offsetIndex: range(chunk, 4, 5),
    columnIndex: range(chunk, 6, 7),
  };
}

/** Bounds of a struct Statistics: the old ones are of use only where all writers compared alike, which is for signed numbers. */
export function storedStatistics(field: ThriftStruct, element: SchemaElement): StoredStatistics {
  const unsigned = element.converted?.startsWith("UINT") === true || (element.logical?.kind === "INTEGER" && !element.logical.signed);
  const old = ["INT32", "INT64", "FLOAT", "DOUBLE", "BOOLEAN"].includes(element.physical ?? "") && !unsigned;
  const min = optionalBytes(field, 6) ?? (old ? optionalBytes(field, 2) : undefined);
  const max = optionalBytes(field, 5) ?? (old ? optionalBytes(field, 1) : undefined);
  const nulls = optionalNumber(field, 3);
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }), ...(nulls === undefined ? {} : { nulls }) };
}

function range(chunk: ThriftStruct, offset: number, length: number): ByteRange | undefined {
  const [start, bytes] = [optionalNumber(chunk, offset), optionalNumber(chunk, length)];
  return start === undefined || bytes === undefined || !(start > 0) || !(bytes > 0) ? undefined : { start, end: start + bytes };
}

function named<T extends string>(names: readonly T[], at: number, what: string): T {
  const name = names[at];
  if (name === undefined) throw new Error(`there is no ${what} ${String(at)}`);
  return name;
}

/** A whole number that is there. */
export function number(fields: ThriftStruct, id: number, what: string): number {
  const value = fields.get(id);
  if (typeof value === "number") return value;
  throw new Error(`the ${what} is missing`);
}

/** A number that counts something, or a place. */
export function count(fields: ThriftStruct, id: number, what: string): number {
  const value = number(fields, id, what);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`the ${what} is ${String(value)}`);
}

/** A number where there is one. */
export function optionalNumber(fields: ThriftStruct, id: number): number | undefined {
  const value = fields.get(id);
  return typeof value === "number" ? value : undefined;
}

/** A struct where there is one. */
export function optionalStruct(fields: ThriftStruct, id: number): ThriftStruct | undefined {
  const value = fields.get(id);
  return value instanceof Map ? (value as ThriftStruct) : undefined;
}

function optionalBytes(fields: ThriftStruct, id: number): Uint8Array | undefined {
  const value = fields.get(id);
  return value instanceof Uint8Array ? value : undefined;
}

/** A list that is there. */
export function list(fields: ThriftStruct, id: number, what: string): readonly ThriftValue[] {
  const value = fields.get(id);
  if (Array.isArray(value)) return value as readonly ThriftValue[];
  throw new Error(`the ${what} are missing`);
}

/** A list of structs that is there. */
export function structs(fields: ThriftStruct, id: number, what: string): ThriftStruct[] {
  return list(fields, id, what).map((item) => asStruct(item, what));
}

function optionalStructs(fields: ThriftStruct, id: number): ThriftStruct[] {
  return fields.has(id) ? structs(fields, id, "notes") : [];
}

function asStruct(value: ThriftValue, what: string): ThriftStruct {
  if (value instanceof Map) return value as ThriftStruct;
  throw new Error(`something else stands where the ${what} should`);
}

function text(fields: ThriftStruct, id: number, what: string): string {
  const value = fields.get(id);
  if (value === undefined) throw new Error(`the ${what} is missing`);
  return decode(value, what);
}

function optionalText(fields: ThriftStruct, id: number): string | undefined {
  return fields.has(id) ? text(fields, id, "note") : undefined;
}

function decode(value: ThriftValue, what: string): string {
  if (!(value instanceof Uint8Array)) throw new Error(`the ${what} is no text`);
  if (!isUtf8(value)) throw new Error(`the ${what} is not UTF-8`);
  return asBuffer(value).toString("utf8");
}
