import { basename } from "node:path";
import { isMarinError, MarinError } from "@marin/rigging";
import { listFiles, type ListedFile, readRecords } from "@marin/zephyr";
import { fileFormat, wholeText } from "../corpus/source-file.js";

/** Where evaluations lie, and what of them is compared. */
export interface EvaluationSource {
  /** Folder of evaluations. */
  readonly folder: string;
  /** Fields of a row that hold text: each is a passage, and a list of texts one for each. Rows lack some of them, but not all. */
  readonly fields: readonly string[];
}

/** One item of an evaluation: a question, a passage. */
export interface EvaluationItem {
  /** File in the folder and the row's own id (`arc/test.jsonl#q7`), or its number from 1 up where it has none (`arc/test.jsonl:7`). */
  readonly name: string;
  readonly passages: readonly string[];
}

/** What a folder tells of the texts in it. */
const sidecars = /^(?:readme|licen[cs]e|notice|copying|changelog)\b|\.md(?:\.|$)/i;

/**
 * The files of a folder of evaluations, sorted by name. Files of other kinds, hidden ones and those that tell about the folder (README.md, LICENSE.txt) are passed over.
 *
 * @throws MarinError MARIN_NO_EVALUATIONS
 */
export async function listEvaluations(folder: string): Promise<ListedFile[]> {
  const all = await listFiles(folder).catch((cause: unknown) => {
    throw isMarinError(cause) ? noEvaluations(folder, cause.message, cause) : cause;
  });
  const files = all.filter(({ name }) => fileFormat(name) !== undefined && !sidecars.test(basename(name)));
  if (files.length === 0) throw noEvaluations(folder, `None of the ${String(all.length)} files in ${folder} holds evaluations.`);
  return files;
}

/**
 * The items of the evaluations in a folder, in order: one a row, or one a text file.
 *
 * @throws MarinError MARIN_NO_EVALUATIONS, MARIN_EVALUATION_RECORD naming file, row and fields, and what reading the files throws
 */
export async function* readEvaluations({ folder, fields }: EvaluationSource, signal: AbortSignal | undefined): AsyncGenerator<EvaluationItem> {
  for (const { path, name } of await listEvaluations(folder)) {
    let row = 0;
    for await (const record of readRecords(path, signal === undefined ? {} : { signal })) {
      row += 1;
      // A text file is a record of one field.
      const passages = passagesOf(record, fileFormat(name)?.format === wholeText.format ? [wholeText.field] : fields);
      if (passages === undefined) throw badRecord(path, row, record, fields);
      const id = (record as { readonly id?: unknown }).id;
      yield { name: typeof id === "string" || typeof id === "number" || typeof id === "bigint" ? `${name}#${String(id)}` : `${name}:${String(row)}`, passages };
    }
  }
}

/** Undefined where the record has none of the fields, or something else than text in one. */
function passagesOf(record: unknown, fields: readonly string[]): string[] | undefined {
  if (typeof record !== "object" || record === null) return undefined;
  const values = fields.flatMap((field) => (record as Readonly<Record<string, unknown>>)[field] ?? []);
  return values.length > 0 && values.every((value) => typeof value === "string") ? values : undefined;
}

function badRecord(path: string, row: number, record: unknown, fields: readonly string[]): MarinError {
  const found = typeof record === "object" && record !== null ? `its fields are ${Object.keys(record).slice(0, 8).join(", ")}` : `it is ${JSON.stringify(record)}`;
  return new MarinError(
    "MARIN_EVALUATION_RECORD",
    `${path}, row ${String(row)}: an item of an evaluation has text in at least one of the fields ${fields.join(", ")}, and only text; ${found}. Name its fields with --set decontaminate.fields=...`,
    { data: { path, row, fields } },
  );
}

function noEvaluations(folder: string, reason: string, cause?: MarinError): MarinError {
  return new MarinError("MARIN_NO_EVALUATIONS", `${reason} Give a folder that holds the evaluations to keep out of the corpus.`, { data: { folder }, cause });
}
