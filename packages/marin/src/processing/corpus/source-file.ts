import { JsonlReader, ParquetReader, readTextFile } from "@marin/zephyr";
import { isMarinError, MarinError } from "@marin/rigging";
import { brownToProse } from "./brown.js";

/** A file of texts. Plain data: a worker is told what to read by it. */
export interface SourceFile {
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

/** Kinds of markup that are removed from texts of the built-in packages. */
export type Cleaning = "speech" | "novel" | "brown";

/** Files that {@link readTexts} reads, by the ending of their names. */
export const textFileNames = /\.(txt|text|md|jsonl|parquet|(txt|md|jsonl)\.gz)$/i;
/** The endings as people are told of them. */
export const textFileEndings = ".txt, .md, .jsonl, their .gz forms, and .parquet";

const otherField = "Name another one with --set documents.textField=...";

const cleanings: Readonly<Record<Cleaning, (text: string) => string>> = { speech: cleanSpeech, novel: cleanNovel, brown: brownToProse };

/**
 * The texts of a file, in order: one of a plain file, one a row of JSON Lines and Parquet.
 *
 * @param file - the file
 * @param textField - the field of rows that holds the text
 * @param signal - stops the reading, throwing its reason
 * @throws MarinError ZEPHYR_BAD_RECORD naming file, line and field for a row without text, ZEPHYR_NO_COLUMN, and what zephyr's readers throw:
 * ZEPHYR_NOT_UTF8, ZEPHYR_BAD_JSON, ZEPHYR_BAD_GZIP, ZEPHYR_BAD_PARQUET, the file errors
 */
export async function* readTexts(file: SourceFile, textField: string, signal: AbortSignal | undefined): AsyncGenerator<{ readonly source: string; readonly text: string }> {
  const { path, source } = file;
  const options = { path, ...(signal === undefined ? {} : { signal }) };
  if (/\.jsonl(\.gz)?$/i.test(path)) {
    let row = 0;
    for await (const text of new JsonlReader({ ...options, parse: (value) => textOf(value, textField) })) yield { source: `${source}:${String(++row)}`, text };
  } else if (/\.parquet$/i.test(path)) {
    let row = 0;
    try {
      for await (const value of new ParquetReader({ ...options, columns: [textField] })) {
        row += 1;
        yield { source: `${source}:${String(row)}`, text: parquetText(path, row, value, textField) };
      }
    } catch (cause) {
      if (!isMarinError(cause, "ZEPHYR_NO_COLUMN")) throw cause;
      throw new MarinError(cause.code, `${cause.message} ${otherField}`, { data: cause.data, cause });
    }
  } else {
    const text = await readTextFile(path, { signal });
    yield { source, text: file.cleaning === undefined ? text : cleanings[file.cleaning](text) };
  }
}

function textOf(row: unknown, field: string): string {
  if (typeof row !== "object" || row === null || Array.isArray(row)) throw new TypeError(`a row should be an object with a text in its field "${field}"`);
  const text = (row as Readonly<Record<string, unknown>>)[field];
  if (typeof text === "string") return text;
  const fields = Object.keys(row).slice(0, 8).join(", ");
  const found = text === undefined ? `there is none; its fields are ${fields === "" ? "none" : fields}` : `found ${text === null ? "null" : `a ${Array.isArray(text) ? "list" : typeof text}`}`;
  throw new TypeError(`field "${field}" should be a text, ${found}. ${otherField}`);
}

function parquetText(path: string, row: number, value: unknown, field: string): string {
  try {
    return textOf(value, field);
  } catch (cause) {
    throw new MarinError("ZEPHYR_BAD_RECORD", `${path}, row ${String(row)}: ${cause instanceof Error ? cause.message : String(cause)}`, { data: { path, row, field }, cause });
  }
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
