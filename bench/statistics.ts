/** The middle value, or the mean of the two middle ones. NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = values.slice().sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** The smallest value, Infinity for no values: the least disturbed measurement. */
export function minimum(values: readonly number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Infinity);
}
