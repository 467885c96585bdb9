/** A command line that cannot be followed. */
export class UsageError extends Error {}

/** The whole number that an option was given. */
export function wholeNumber(option: string, text: string, least: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) throw new UsageError(`--${option} ${text}: must be a whole number of at least ${least}`);
  return value;
}

/** The one of the names that an option was given. */
export function oneOf<Name extends string>(option: string, text: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === text);
  if (found === undefined) throw new UsageError(`--${option} ${text}: there are ${names.join(", ")}`);
  return found;
}

/** Names and what they stand for, one a line. */
export function listing(entries: readonly (readonly [string, string])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`).join("\n");
}
