import { type Storage, MarinError } from "@marin/iris";
import { compressionOf } from "../compression/suffix.js";
import { pathsOf, withKnown } from "../expr/paths.js";
import { Misfit } from "../parquet/encode.js";
import type { ParquetSchema } from "../parquet/types.js";
import { recordParser } from "../schema/record-parser.js";
import { currentStorage } from "../storage.js";
import { outputPaths } from "../writers/output-paths.js";
import { BadRecords } from "./bad-records.js";
import { fileInput } from "./file-input.js";
import { finishedGroups } from "./finish.js";
import type { Format, FormatInput, OnBadRecord, ReadOptions, RecordPosition, SourceFile } from "./format.js";
import { Flattened, type RecordGroups } from "./groups.js";
import { formatNamed, formatOf, isKnownFormat } from "./registry.js";
import { checkSettings } from "./settings.js";
import { pathColumnTaken } from "./table-columns.js";

/**
 * The records of a file, in order, by the ending of its name: each line's value of .jsonl and .ndjson; one record `{ text }` for
 * .txt and .md; each row of .parquet, .csv, .tsv, .arrow; each record of .warc and .wet; the records of all members of .zip;
 * and what {@link registerFormat} has taught. Those that are read from beginning to end may be packed: .gz, .zst, .xz.
 * Can be iterated again.
 *
 * @param file - its path; or what planning says of a file or a part of one
 * @param options - how to read it
 * @throws MarinError ZEPHYR_UNKNOWN_FORMAT and ZEPHYR_BAD_SETTING at once; iterating throws what the format's reader throws, with
 * file and place. A file is read to its end or an error is thrown: it never ends silently early.
 */
export function readRecords(file: string | SourceFile, options: ReadOptions = {}): RecordFile {
  const source = typeof file === "string" ? sourceOf(file, options) : file;
  if (isKnownFormat(source.format)) checkInput(formatNamed(source.format), source, options);
  return {
    groups: () => read(source, options),
    [Symbol.asyncIterator]: () => new Flattened(read(source, options)),
  };
}

/** The records of a file. */
export interface RecordFile extends AsyncIterable<unknown> {
  /** The same records in groups as they become known, for those who can do without a promise for each: iterate a group before the next is asked for. */
  groups(): AsyncIterable<Iterable<unknown>>;
}

async function* read(source: SourceFile, options: ReadOptions): RecordGroups<unknown> {
  if (source.module !== undefined && !isKnownFormat(source.format)) {
    // eslint-disable-next-line marin/computed-import -- the module that taught the format to the process that planned
    await import(source.module);
  }
  const format = formatNamed(source.format);
  checkInput(format, source, options);
  const { path, part, version } = source;
  const { storage = currentStorage(), signal } = options;
  const bad = new BadRecords(path, policyOf(source, options), storage);
  yield* bad.closeAfter(finishedGroups(format, inputOf(format, source, { ...options, storage }, bad)));
  // A part is not read to the file's end, where a change is noticed otherwise.
  if (part !== undefined && version !== undefined) await storage.read(path, { start: 0, end: 1, version, signal });
}

function sourceOf(path: string, { format }: ReadOptions): SourceFile {
  return { path, bytes: 0, format: format === undefined ? formatOf(path).name : formatNamed(format).name };
}

/** @throws MarinError ZEPHYR_BAD_SETTING, ZEPHYR_COMPRESSION_UNSUPPORTED */
function checkInput(format: Format, { path }: SourceFile, { settings = {} }: ReadOptions): void {
  checkSettings(format, settings);
  if (format.randomAccess !== true || compressionOf(path) === undefined) return;
  throw new MarinError("ZEPHYR_COMPRESSION_UNSUPPORTED", `${path} cannot be read: ${format.name} is read in parts, which a packed file does not allow: unpack it first.`, { data: { path, format: format.name } });
}

function policyOf({ path, sideFile }: SourceFile, { onBadRecord = "fail" }: ReadOptions): OnBadRecord {
  if (onBadRecord === "fail" || onBadRecord.sideFile === undefined) return onBadRecord;
  const named = sideFile ?? outputPaths(onBadRecord.sideFile, [{ input: path }])[0];
  return named === undefined ? onBadRecord : { ...onBadRecord, sideFile: named };
}

function inputOf(format: Format, source: SourceFile, options: ReadOptions & { readonly storage: Storage }, bad: BadRecords): FormatInput {
  const { path, part } = source;
  const { columns, needed = columns, named = columns ?? [], filter, pathColumn, schema, settings = {}, emptyOk = false } = options;
  const looked = filter === undefined || pathColumn === undefined ? filter : withKnown(filter, new Map([[pathColumn, path]]));
  const finish = finisherOf(format, path, options);
  return {
    ...fileInput(source, options),
    part,
    columns: needed,
    filter: looked,
    required: schema === undefined ? [...named.map((name) => [name] as const), ...(looked === undefined ? [] : pathsOf(looked))] : requiredOf(schema, columns),
    // A column that is not among those asked for is not replaced.
    pathColumn: columns === undefined ? pathColumn : undefined,
    settings,
    emptyOk,
    bad: bad.report,
    record: (value, position) => {
      if (finish === undefined) return value;
      try {
        return finish(value, position);
      } catch (cause) {
        if (!(cause instanceof Misfit)) throw cause;
        bad.report(badRecord(path, position, cause), sampleOf(value));
        return undefined;
      }
    },
  };
}

/** Those that are asked for and cannot be null. */
function requiredOf(schema: ParquetSchema, columns: readonly string[] = Object.keys(schema)): readonly (readonly [string])[] {
  return columns.flatMap((name) => {
    const type = schema[name];
    return type === undefined || (typeof type === "object" && "nullable" in type) ? [] : [[name] as const];
  });
}

/** What is done to each value; undefined where there is nothing to do. It throws {@link Misfit} for what does not fit. */
function finisherOf(format: Format, path: string, { columns, named, schema, pathColumn }: ReadOptions): ((value: unknown, position: RecordPosition) => unknown) | undefined {
  const chosen = format.projects === true ? undefined : columns;
  // Rows of a table have fields always.
  const mayLackFields = named !== undefined && format.projects !== true;
  if (chosen === undefined && pathColumn === undefined && schema === undefined && !mayLackFields) return undefined;
  const parse = schema === undefined ? undefined : recordParser(schemaOf(path, schema, columns), format.texts === true ? "text" : "json");
  return (value, position) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new Misfit("", `an object with fields is needed, and it is ${value === null ? "null" : Array.isArray(value) ? "a list" : typeof value}`);
    }
    const picked = chosen === undefined ? value : Object.fromEntries(chosen.filter((name) => Object.hasOwn(value, name)).map((name) => [name, (value as Record<string, unknown>)[name]]));
    const typed = parse === undefined ? picked : parse(picked);
    if (pathColumn === undefined) return typed;
    if (Object.hasOwn(typed, pathColumn)) throw pathColumnTaken(`${path}${placeOf(position)}`, pathColumn);
    return { ...typed, [pathColumn]: path };
  };
}

/** The part of a schema that is read. @throws MarinError ZEPHYR_NO_COLUMN */
function schemaOf(path: string, schema: ParquetSchema, columns: readonly string[] | undefined): ParquetSchema {
  if (columns === undefined) return schema;
  return Object.fromEntries(
    columns.map((name) => {
      const type = schema[name];
      if (type === undefined || !Object.hasOwn(schema, name)) {
        throw new MarinError("ZEPHYR_NO_COLUMN", `The column "${name}" is to be read of ${path}, and the schema that was given has none: its columns are ${Object.keys(schema).join(", ")}.`, {
          data: { path, column: name, columns: Object.keys(schema) },
        });
      }
      return [name, type] as const;
    }),
  );
}

function badRecord(path: string, position: RecordPosition, { column, message }: Misfit): MarinError {
  const { line, record, offset, member } = position;
  const data = Object.fromEntries(Object.entries({ path, member, line, record, offset, column: column === "" ? undefined : column }).filter(([, known]) => known !== undefined));
  return new MarinError("ZEPHYR_BAD_RECORD", `${path}${placeOf(position)} does not hold what it should: ${column === "" ? "" : `column ${column}: `}${message}.`, { data });
}

/** Where a record is, behind its file's path. */
function placeOf({ line, record, offset, member }: RecordPosition): string {
  const place = line !== undefined ? `, line ${String(line)}` : record !== undefined ? `, record ${String(record)}` : offset !== undefined ? `, byte ${String(offset)}` : "";
  return `${member === undefined ? "" : `, ${member}`}${place}`;
}

/** How a value begins, for people. */
function sampleOf(value: unknown): string {
  try {
    return JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner)) ?? String(value);
  } catch {
    // Nested deeper than the stack.
    return "";
  }
}
