import type { ParquetRecord, ParquetSchema, ParquetType, ParquetValue } from "../parquet/types.js";

type Convert = (value: ParquetValue) => ParquetValue;

/**
 * Makes records fit a schema that was widened after they were read or made: where a column has become float64, its bigints
 * become numbers; inference has seen to it that this is exact. Nothing else needs a change.
 */
export function conformer(schema: ParquetSchema): (record: ParquetRecord) => ParquetRecord {
  const converters = fieldConverters(schema);
  return converters.length === 0 ? (record) => record : (record) => convertFields(record, converters);
}

function fieldConverters(schema: ParquetSchema): (readonly [name: string, convert: Convert])[] {
  return Object.entries(schema).flatMap(([name, type]) => {
    const convert = converterOf(type);
    return convert === undefined ? [] : [[name, convert] as const];
  });
}

/** Undefined where nothing of the type ever changes. */
function converterOf(type: ParquetType): Convert | undefined {
  if (type === "float64") return (value) => (typeof value === "bigint" ? Number(value) : value);
  if (typeof type === "string") return undefined;
  if ("nullable" in type) return converterOf(type.nullable);
  if ("list" in type) {
    const convert = converterOf(type.list);
    return convert && ((value) => (Array.isArray(value) && value.some((item) => convert(item as ParquetValue) !== item) ? value.map((item) => convert(item as ParquetValue)) : value));
  }
  if ("map" in type) {
    const convert = converterOf(type.map.value);
    return convert && ((value) => (value instanceof Map ? new Map([...(value as ReadonlyMap<ParquetValue, ParquetValue>)].map(([key, item]) => [key, convert(item)])) : value));
  }
  if ("struct" in type) {
    const converters = fieldConverters(type.struct);
    return converters.length === 0 ? undefined : (value) => (value === null || typeof value !== "object" ? value : convertFields(value as ParquetRecord, converters));
  }
  return undefined;
}

/** The record itself where nothing changes. */
function convertFields(record: ParquetRecord, converters: readonly (readonly [name: string, convert: Convert])[]): ParquetRecord {
  let copy: Record<string, ParquetValue> | undefined;
  for (const [name, convert] of converters) {
    const value = record[name];
    if (value === undefined) continue;
    const converted = convert(value);
    if (converted !== value) (copy ??= { ...record })[name] = converted;
  }
  return copy ?? record;
}
