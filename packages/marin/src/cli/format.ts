import { escapeControls } from "@marin/rigging";

/** "12,345" for counts; at most four significant digits for fractions. */
export function formatNumber(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString("en-US") : value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
}

/** "0.4 s", "42 s", "3 min 5 s", "2 h 10 min". */
export function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** Text of several lines that came from files, scripts or models, safe for a terminal. */
export function printable(text: string): string {
  return escapeControls(text, "\n\t");
}

/** Wraps text at spaces to lines of at most `width` characters; a longer word keeps its line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
