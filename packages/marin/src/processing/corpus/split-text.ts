/**
 * Places where a text may be cut, best first: between paragraphs, lines, sentences, words. Each expression matches the
 * white space after which the next part begins, so the parts joined are the text.
 */
// `(?= )` comes first so that only blanks look back: at every character, a long run of brackets would take quadratic time.
const boundaries = [/\n{2,}/g, /\n/g, /(?= )(?<=[.!?]["'”’)\]]*) +/g, /\s+/g];

/**
 * Cuts a text into parts of at most `maxBytes` UTF-8 bytes, of about equal size, at the best boundaries that allow it:
 * paragraphs, else lines, else sentences, else words, else between characters.
 *
 * @param text - any text
 * @param maxBytes - most bytes of a part, at least 4 (one character)
 * @returns the parts in order; joined they are `text`. A text that fits is its own only part.
 */
export function splitText(text: string, maxBytes: number): string[] {
  return split(text, maxBytes, 0);
}

function split(text: string, maxBytes: number, level: number): string[] {
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return [text];
  const target = Math.ceil(bytes / Math.ceil(bytes / maxBytes));
  const parts: string[] = [];
  let part = "";
  let size = 0;
  const add = (piece: string, pieceSize: number): void => {
    if (size > 0 && (size >= target || size + pieceSize > maxBytes)) {
      parts.push(part);
      part = "";
      size = 0;
    }
    part += piece;
    size += pieceSize;
  };
  for (const piece of pieces(text, boundaries[level])) {
    const pieceSize = Buffer.byteLength(piece);
    if (pieceSize <= maxBytes) add(piece, pieceSize);
    else for (const smaller of split(piece, maxBytes, level + 1)) add(smaller, Buffer.byteLength(smaller));
  }
  if (size > 0) parts.push(part);
  return parts;
}

/** The text cut after each match of the boundary; into characters when there is no boundary left to try. */
function pieces(text: string, boundary: RegExp | undefined): string[] {
  if (boundary === undefined) return Array.from(text);
  const result: string[] = [];
  let start = 0;
  for (const match of text.matchAll(boundary)) {
    const end = match.index + match[0].length;
    result.push(text.slice(start, end));
    start = end;
  }
  if (start < text.length) result.push(text.slice(start));
  return result;
}
