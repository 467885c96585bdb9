/**
 * Text with its control characters written out (`\n`, `\u001b`), so that what came from a file, a name or a model can neither forge a line
 * nor drive a terminal. Marks that turn the direction of writing and the Unicode line separators count as control characters.
 *
 * @param text - any text
 * @param kept - control characters to leave as they are, for example "\n\t". Default: none
 */
export function escapeControls(text: string, kept = ""): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu, (character) => {
    if (kept.includes(character)) return character;
    const json = JSON.stringify(character).slice(1, -1);
    // JSON leaves DEL and the C1 controls as they are; U+009B begins terminal codes as ESC [ does.
    return json === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}` : json;
  });
}
