import { escapeControls } from "@marin/rigging";

/**
 * Text of documents, models and commands as a page can hold it: characters that drive a device or turn the direction of writing are written out
 * (`\u001b`), what is no character becomes the replacement character. Escaping for HTML is the renderer's.
 */
export function visibleText(text: string): string {
  return escapeControls(text, "\n\t").replace(/\p{Surrogate}|\p{Noncharacter_Code_Point}/gu, "\uFFFD");
}
