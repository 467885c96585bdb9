import { isMarinError, MarinError } from "@marin/rigging";
import { type Format, formatOf, type FormatSettings, type ParquetSchema, readRecords, recordExtensions } from "@marin/zephyr";
import { brownToProse } from "./brown.js";

/** A file of texts. Plain data: a worker is told what to read by it. */
export interface SourceFile extends FileFormat {
  /** The group that it is counted under. */
  readonly group: string;
  /** What the `source` of its documents begins with; different from every other file's. */
  readonly source: string;
  readonly path: string;
  /** Size in bytes. */
  readonly bytes: number;
  /** What of its text is no prose, and goes. */
  readonly cleaning?: Cleaning;
}

/** Who reads a file. */
export interface FileFormat {
  /** Name of its format. */
  readonly format: string;
  /** URL of the module that teaches the format, where it is none of zephyr's own. */
  readonly module?: string;
}

/** How records become texts: plain data. */
export interface TextRule {
  /** The field of a record that holds the text. */
  readonly textField: string;
  /** Fields that a record has besides, and their types. */
  readonly schema: ParquetSchema;
  /** What the readers of formats have to know, by format. */
  readonly settings: Readonly<Record<string, FormatSettings>>;
}

/** Kinds of markup that are removed from texts of the built-in packages. */
export type Cleaning = "speech" | "novel" | "brown";

/** A file of this format is one text, whatever the field is called elsewhere. */
export const wholeText = { format: "text", field: "text" } as const;

/** The format of a file by its name; undefined where it is of no kind that is read. */
export function fileFormat(name: string): FileFormat | undefined {
  let format: Format;
  try {
    format = formatOf(name);
  } catch (error) {
    if (isMarinError(error, "ZEPHYR_UNKNOWN_FORMAT")) return undefined;
    throw error;
  }
  return { format: format.name, ...(format.module === undefined ? {} : { module: format.module }) };
}

/** The endings of files that are read, as people are told of them. */
export function textFileEndings(): string {
  return `${recordExtensions().filter((ending) => !/\.(gz|zstd?|xz)$/.test(ending)).join(", ")}; packed ones too`;
}

const cleanings: Readonly<Record<Cleaning, (text: string) => string>> = { speech: cleanSpeech, novel: cleanNovel, brown: brownToProse };

/**
 * The texts of a file, in order: one of a plain file, one a record of all others.
 *
 * @param file - the file
 * @param rule - what of a record is its text
 * @param badRecords - where records that cannot be read, and those without a text, are told; they are counted ("bad-records") and passed over then. Undefined: the first one is an error
 * @param signal - stops the reading, throwing its reason
 * @throws MarinError ZEPHYR_BAD_RECORD naming file, place and field for a record without text, ZEPHYR_NO_COLUMN, and what zephyr's readers throw:
 * ZEPHYR_NOT_UTF8, ZEPHYR_BAD_JSON, ZEPHYR_BAD_GZIP, ZEPHYR_BAD_PARQUET, the file errors
 */
export async function* readTexts(file: SourceFile, rule: TextRule, badRecords: string | undefined, signal: AbortSignal | undefined): AsyncGenerator<{ readonly source: string; readonly text: string }> {
  const { path, bytes, source, format, module, cleaning } = file;
  const isWhole = format === wholeText.format;
  const field = isWhole ? wholeText.field : rule.textField;
  const schema: ParquetSchema = isWhole ? { [field]: "string" } : { ...rule.schema, [field]: "string" };
  const settings = rule.settings[format];
  const told = badRecords === undefined ? {} : { sideFile: badRecords };
  const records = readRecords(
    { path, bytes, format, ...(module === undefined ? {} : { module }), ...told },
    { columns: Object.keys(schema), schema, settings, signal, onBadRecord: badRecords === undefined ? "fail" : { skip: true, ...told } },
  );
  let number = 0;
  try {
    for await (const record of records) {
      number += 1;
      const text = (record as Readonly<Record<string, string>>)[field] ?? "";
      yield { source: isWhole ? source : `${source}:${String(number)}`, text: cleaning === undefined ? text : cleanings[cleaning](text) };
    }
  } catch (cause) {
    throw isWhole ? cause : await withAdvice(cause, file, field, settings);
  }
}

/** Says which fields there are where the one that should hold the text is not there. */
async function withAdvice(cause: unknown, file: SourceFile, field: string, settings: FormatSettings | undefined): Promise<unknown> {
  if (!isMarinError(cause)) return cause;
  const isMissing = cause.code === "ZEPHYR_NO_COLUMN";
  if (!isMissing && !(cause.code === "ZEPHYR_BAD_RECORD" && cause.data["column"] === field)) return cause;
  // A missing column's error names those that are there.
  const fields = isMissing ? [] : await firstFields(file, settings).catch(() => []);
  const there = fields.length === 0 ? "" : ` The first record of the file has the fields ${fields.join(", ")}.`;
  return new MarinError(cause.code, `${cause.message}${there} Name the field that holds the text with --set documents.textField=...`, { data: { ...cause.data, field }, cause });
}

/** Names of the fields of a file's first record. */
async function firstFields({ path, bytes, format }: SourceFile, settings: FormatSettings | undefined): Promise<readonly string[]> {
  for await (const record of readRecords({ path, bytes, format }, { settings, onBadRecord: { skip: true } })) return Object.keys(record as object).slice(0, 8);
  return [];
}

/** Page marks, HTML entities and rulings of the transcripts go; a speech is one line in the package. */
function cleanSpeech(raw: string): string {
  return raw
    .replace(/\[p\.\d+\]|_{4,}/g, " ")
    .replace(/&quot;/g, '"')
    .replace(/&mdash;/g, "—")
    .replace(/ {2,}/g, " ")
    .trim();
}

/** Verse lines stand on one line in the package, set apart by runs of blanks. */
function cleanNovel(raw: string): string {
  return raw.replace(/^ +/gm, "").replace(/ {4,}/g, "\n").replace(/ {2,}/g, " ");
}
