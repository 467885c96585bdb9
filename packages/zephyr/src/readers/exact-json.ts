/** How deep values are looked into before they are taken for ones that may hold a long number. */
const lookedDepth = 50;

/**
 * The value of a JSON text, a whole number beyond 2^53 as a bigint, which JSON.parse would round. One with a point or an exponent stays a number.
 *
 * @throws SyntaxError as JSON.parse does
 */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!mayHoldLongNumber(value, lookedDepth)) return value;
  const mark = markFor(text);
  const marked = withMarkedIntegers(text, mark);
  return marked === undefined ? value : unmarked(JSON.parse(marked), mark);
}

/** Looking at the values is cheaper than at the text, which is mostly texts. */
function mayHoldLongNumber(value: unknown, depth: number): boolean {
  if (typeof value === "number") return isLong(value);
  if (!isObject(value)) return false;
  if (depth === 0) return true;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const item: unknown = value[index];
      if (typeof item === "number" ? isLong(item) : typeof item === "object" && mayHoldLongNumber(item, depth - 1)) return true;
    }
    return false;
  }
  for (const name in value) {
    const field = value[name];
    if (typeof field === "number" ? isLong(field) : typeof field === "object" && mayHoldLongNumber(field, depth - 1)) return true;
  }
  return false;
}

function isLong(value: number): boolean {
  return value > Number.MAX_SAFE_INTEGER || value < -Number.MAX_SAFE_INTEGER;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** What no text of this JSON begins with: JSON has control characters only escaped, and none so often in a row here. */
function markFor(text: string): string {
  let mark = "\\u0001";
  while (text.includes(mark)) mark += "\\u0001";
  return mark;
}

/** The JSON text with a marked text of the digits in place of each whole number beyond 2^53; undefined where there is none. */
function withMarkedIntegers(text: string, mark: string): string | undefined {
  const pieces: string[] = [];
  let taken = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === 34) {
      at = endOfText(text, at);
    } else if (code === 45 || isDigit(code)) {
      const start = at;
      while (at < text.length && isOfNumber(text.charCodeAt(at))) at += 1;
      const digits = text.slice(start, at);
      if (!/^-?\d{16,}$/.test(digits) || Number.isSafeInteger(Number(digits))) continue;
      pieces.push(text.slice(taken, start), `"${mark}${digits}"`);
      taken = at;
    } else {
      at += 1;
    }
  }
  return pieces.length === 0 ? undefined : pieces.join("") + text.slice(taken);
}

/** The place behind the quote that ends a text. */
function endOfText(text: string, start: number): number {
  let end = start;
  let isEscaped: boolean;
  do {
    end = text.indexOf('"', end + 1);
    let before = end - 1;
    while (text.charCodeAt(before) === 92) before -= 1;
    isEscaped = (end - 1 - before) % 2 === 1;
  } while (isEscaped);
  return end + 1;
}

/** Digits, and what a fraction or an exponent has besides. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 43 || code === 45 || code === 46 || code === 69 || code === 101;
}

/** The value with bigints in place of marked texts. What is nested deep does not fill the stack. */
function unmarked(value: unknown, escapedMark: string): unknown {
  const mark = "\u0001".repeat(escapedMark.length / 6);
  const bigintOf = (item: unknown): unknown => (typeof item === "string" && item.startsWith(mark) ? BigInt(item.slice(mark.length)) : item);
  const open = [value].filter(isObject);
  for (let object = open.pop(); object !== undefined; object = open.pop()) {
    for (const name of Object.keys(object)) {
      const item = object[name];
      if (isObject(item)) open.push(item);
      else if (typeof item === "string") object[name] = bigintOf(item);
    }
  }
  return bigintOf(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
