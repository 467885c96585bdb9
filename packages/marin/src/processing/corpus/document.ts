import { createHash } from "node:crypto";

/** A piece of text a model is trained or evaluated on. */
export interface Document {
  /** SHA-256 of the text's UTF-8 bytes, as 64 hexadecimal digits. */
  readonly id: string;
  /** The text, normalised by {@link normalizeText}. */
  readonly text: string;
  /** Where it came from: a file's path below the user's folder, or a built-in group and file; `:3` is the third row of the file, `#2` the second part of a text that was cut. */
  readonly source: string;
}

/** The id of a document: SHA-256 of the text's UTF-8 bytes in hexadecimal. */
export function documentId(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/**
 * One form for texts that read the same, so that equal texts get equal ids: no byte order mark, Unicode NFC, `\n` line ends,
 * no control characters but tab and newline, no blanks at line ends, at most one empty line in a row, no blank lines around.
 */
export function normalizeText(text: string): string {
  const lines = text
    // First, so that what they stood between is seen as one: a line end's two characters, a letter and its accent.
    // eslint-disable-next-line no-control-regex -- control characters are what is removed
    .replace(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F]/g, "")
    .replace(/\r\n?/g, "\n")
    .normalize("NFC")
    .split("\n");
  // trimEnd and not a pattern: /[ \t]+$/ takes quadratic time on a long run of blanks.
  return lines
    .map((line) => line.trimEnd())
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .replace(/^[\n\uFEFF]+/, "")
    .trimEnd();
}
