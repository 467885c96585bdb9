/** A part of a text, in characters (UTF-16 code units), as `text.slice(start, end)` takes it. */
export interface TextSpan {
  readonly start: number;
  /** The index after the last character. */
  readonly end: number;
}

/**
 * A text without some of its parts.
 *
 * @param text - the text
 * @param spans - the parts that go, ascending by start; they may touch or overlap
 * @throws RangeError when a span ends before it starts, begins before the one before it does, or lies outside the text
 */
export function removeSpans(text: string, spans: readonly TextSpan[]): string {
  let kept = "";
  let [at, previous] = [0, 0];
  for (const { start, end } of spans) {
    if (!(start >= previous && end >= start && end <= text.length)) {
      throw new RangeError(`Spans ascend and lie within the text's ${String(text.length)} characters, found ${String(start)} to ${String(end)} after one that starts at ${String(previous)}.`);
    }
    previous = start;
    if (start > at) kept += text.slice(at, start);
    at = Math.max(at, end);
  }
  return kept + text.slice(at);
}

/** Characters that spans cover together. @param spans - ascending by start */
export function spanLength(spans: readonly TextSpan[]): number {
  let [length, covered] = [0, 0];
  for (const { start, end } of spans) {
    length += Math.max(0, end - Math.max(start, covered));
    covered = Math.max(covered, end);
  }
  return length;
}
