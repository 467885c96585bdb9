/** Numbers as people read them, always in the same notation: a comma between thousands, a point before decimals, units of powers of 1000. */

/** "17,148,840". */
export function count(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** "4.40 M", "812". Three digits. */
export function shortCount(value: number): string {
  return scaled(value, ["", " k", " M", " G", " T"]);
}

/** "17.1 MB", "812 bytes". Three digits. */
export function bytes(value: number): string {
  return value === 1 ? "1 byte" : scaled(value, [" bytes", " kB", " MB", " GB", " TB"]);
}

/** "94.1 %"; never 0 or 100 for what is neither. */
export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 0.05) return "< 0.1 %";
  if (value < 100 && value >= 99.95) return "> 99.9 %";
  return `${value.toFixed(1)} %`;
}

/** "0.4 s", "51 s", "8 min 12 s", "2 h 3 min". */
export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${String(whole)} s`;
  if (whole < 3600) return `${String(Math.floor(whole / 60))} min ${String(whole % 60)} s`;
  const minutes = Math.round(whole / 60);
  return `${count(Math.floor(minutes / 60))} h ${String(minutes % 60)} min`;
}

/** "2026-11-30 12:28:39 UTC" of an ISO 8601 time. */
export function moment(iso: string): string {
  return `${iso.slice(0, 19).replace("T", " ")} UTC`;
}

function scaled(value: number, units: readonly [string, ...string[]]): string {
  let amount = value;
  let unit = 0;
  // What would be rounded to 1000 belongs to the next unit.
  while (amount >= 999.5 && unit < units.length - 1) {
    amount /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? count(amount) : amount.toPrecision(3)}${units[unit] ?? ""}`;
}
