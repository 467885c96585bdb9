import { MarinError } from "@marin/ducky";

/** Versions that do not agree. */
interface Versions {
  /** What the caller started from; undefined: nothing. */
  readonly expected: string | undefined;
  /** What is there; undefined: nothing, or not known. */
  readonly found?: string | undefined;
  /** Whether a lost answer leaves open that the write took place. */
  readonly mayHaveBeenWritten?: boolean;
}

/** The error of a conditional write whose condition does not hold. */
export function changed(path: string, { expected, found, mayHaveBeenWritten = false }: Versions): MarinError {
  const what = expected === undefined ? "something is there already" : "it has been written or removed since it was read";
  return new MarinError("RIGGING_CHANGED", `Cannot write ${path}: ${what}; read it again.`, { data: { path, expected: expected ?? null, found: found ?? null, mayHaveBeenWritten } });
}

/** The error of a read whose version is no longer there. */
export function notThatVersion(path: string, { expected, found }: Versions): MarinError {
  return new MarinError("RIGGING_CHANGED", `Cannot read ${path}: it has changed since its version was asked for, or while it was read; begin again.`, { data: { path, expected: expected ?? null, found: found ?? null } });
}
