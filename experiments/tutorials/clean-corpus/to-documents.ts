import { relative } from "node:path";

import { documentId, normalizeText, type Document } from "@marin/marin";
import { zephyrContext, type FormatSettings } from "@marin/zephyr";

/** How the records of a source become documents. */
export interface Source {
  /** Folder of its files. */
  readonly folder: string;
  /** The field of a record that holds the text. */
  readonly text: string;
  /** What of the text is no prose. */
  readonly cleaning?: "tags" | "page";
  /** What its format's reader has to know. */
  readonly settings?: FormatSettings;
}

/** What {@link toDocuments} is told once, for all records. */
export interface Conversion extends Omit<Source, "settings"> {
  /** Folder of all sources. */
  readonly root: string;
  /** Least UTF-8 bytes of a document. */
  readonly minBytes: number;
}

/** The document of a record, none where it has no text or too little; counts what it does, by source. A function that workers can import. */
export function toDocuments({ root, folder, text: field, cleaning, minBytes }: Conversion, record: Readonly<Record<string, unknown>>, index: number): Document[] {
  const count = (what: string, amount = 1): void => {
    zephyrContext().count(`${folder} ${what}`, amount);
  };
  const raw = record[field];
  if (typeof raw !== "string") {
    count("unreadable");
    return [];
  }
  const text = normalizeText(cleaning === undefined ? raw : cleanings[cleaning](raw));
  const bytes = Buffer.byteLength(text);
  if (bytes < minBytes) {
    count("tooShort");
    count("tooShortBytes", bytes);
    return [];
  }
  count("documents");
  count("bytes", bytes);
  return [{ id: documentId(text), text, source: `${relative(root, String(record["file"]))}:${String(index + 1)}` }];
}

const cleanings = {
  /** "The/at jury/nn said/vbd ./." */
  tags: (text: string) => text.replace(/\/[a-z$*+'.,:()`-]+(?=\s|$)/gi, "").replace(/ ([.,;:?!])/g, "$1").replace(/^[ \t]+/gm, ""),
  /** The first paragraph of a page is its menu, the last one its footer. */
  page: (text: string) => text.split("\n\n").slice(1, -1).join("\n\n"),
};

export function idOf({ id }: Document): string {
  return id;
}

export function sourceOf({ source }: Document): string {
  return source;
}

/** All documents of one id: copies go later, by a step that says which and why. */
export async function* everyDocument(_id: string, documents: AsyncIterable<Document>): AsyncGenerator<Document> {
  yield* documents;
}
