const steps = new WeakMap<Error, string>();

/** Remembers in which step an error happened; the first time counts. What is thrown and is no error becomes one. */
export function failedIn(step: string, thrown: unknown): Error {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (!steps.has(error)) steps.set(error, step);
  return error;
}

/** The step in which an error that a run threw happened; undefined when it was in none. */
export function failedStep(error: unknown): string | undefined {
  return error instanceof Error ? steps.get(error) : undefined;
}
