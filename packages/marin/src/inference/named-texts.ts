import { MarinError } from "@marin/rigging";

/** A document to score. */
export interface NamedText {
  readonly id: string;
  readonly text: string;
}

/** Documents of a batch, at most. */
const BATCH_DOCUMENTS = 64;

/** A batch ends when its texts have so many characters: a server that computes it answers in time, and others get their turn. */
const BATCH_CHARACTERS = 1 << 16;

/**
 * The documents that records stand for: `text`, and `id`, or where there is none the file's name and the record's number from 0.
 *
 * @throws MarinError MARIN_SCORE_RECORD naming file and record where there is no text, or an id that is neither text nor number
 */
export async function* documentsOf(file: string, records: AsyncIterable<unknown>): AsyncGenerator<NamedText> {
  let number = 0;
  for await (const record of records) {
    const { id, text } = (typeof record === "object" && record !== null ? record : {}) as { readonly id?: unknown; readonly text?: unknown };
    if (typeof text !== "string") throw badRecord(file, number, `has no text: a document to score is an object with the field "text"`);
    if (id === undefined || id === null) yield { id: `${file}#${String(number)}`, text };
    else if (typeof id === "string" || typeof id === "number" || typeof id === "bigint") yield { id: String(id), text };
    else throw badRecord(file, number, `has an id that is neither a text nor a number`);
    number += 1;
  }
}

/** Documents in batches of limited size, at least one in each. */
export async function* batchesOf(documents: AsyncIterable<NamedText>): AsyncGenerator<NamedText[]> {
  let batch: NamedText[] = [];
  let characters = 0;
  for await (const document of documents) {
    if (batch.length > 0 && (batch.length === BATCH_DOCUMENTS || characters + document.text.length > BATCH_CHARACTERS)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(document);
    characters += document.text.length;
  }
  if (batch.length > 0) yield batch;
}

function badRecord(file: string, record: number, problem: string): MarinError {
  return new MarinError("MARIN_SCORE_RECORD", `${file}: record ${String(record)} ${problem}`, { data: { file, record } });
}
