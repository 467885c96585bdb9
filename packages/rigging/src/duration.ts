import { MarinError } from "@marin/ducky";

const millisecondsPer: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/**
 * Reads a duration such as "5m", "1h30m", "2.5s" or "250ms" (units d, h, m, s, ms, largest first, each at most once).
 *
 * @param text - the duration; spaces around it and between its parts are allowed
 * @returns milliseconds
 * @throws MarinError RIGGING_BAD_DURATION when the text is not one
 */
export function parseDuration(text: string): number {
  const parts = /^\s*(?:([\d.]+)d)?\s*(?:([\d.]+)h)?\s*(?:([\d.]+)m)?\s*(?:([\d.]+)s)?\s*(?:([\d.]+)ms)?\s*$/.exec(text);
  const amounts = parts?.slice(1) ?? [];
  let total = 0;
  let found = false;
  for (const [index, unit] of Object.keys(millisecondsPer).entries()) {
    const amount = amounts[index];
    if (amount === undefined) continue;
    total += /^\d+(\.\d+)?$/.test(amount) ? Number(amount) * (millisecondsPer[unit] ?? NaN) : NaN;
    found = true;
  }
  if (!found || !Number.isFinite(total)) {
    throw new MarinError("RIGGING_BAD_DURATION", `"${text}" is not a duration; write for example "250ms", "30s", "5m" or "1h30m".`, {
      data: { found: text },
    });
  }
  return total;
}

/**
 * Writes a duration for people, in a form {@link parseDuration} reads: "345ms", "2.5s", "1m30s", "2h5m". Rounded to
 * milliseconds under one second, to tenths of a second under one minute, to seconds above.
 *
 * @param milliseconds - finite; a negative duration gets a leading "-" (which does not parse)
 */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 0) return `-${formatDuration(-milliseconds)}`;
  if (Math.round(milliseconds) < 1000) return `${String(Math.round(milliseconds))}ms`;
  const tenths = Math.round(milliseconds / 100);
  if (tenths < 600) return `${String(tenths / 10)}s`;
  let rest = Math.round(milliseconds / 1000);
  let text = "";
  for (const [unit, seconds] of [["d", 86_400], ["h", 3600], ["m", 60], ["s", 1]] as const) {
    const amount = Math.floor(rest / seconds);
    rest -= amount * seconds;
    if (amount > 0) text += `${String(amount)}${unit}`;
  }
  return text;
}
