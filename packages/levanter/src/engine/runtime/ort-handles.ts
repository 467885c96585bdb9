/** Kinds of native objects that are counted while they live. */
export type HandleKind = "session" | "value" | "options" | "memoryInfo";

const live: Record<HandleKind, number> = { session: 0, value: 0, options: 0, memoryInfo: 0 };

/** Adds `change` to the count of living native objects of a kind. */
export function countHandle(kind: HandleKind, change: 1 | -1): void {
  live[kind] += change;
  if (live[kind] < 0) throw new RangeError(`a native ${kind} was released twice`);
}

/** Native objects created and not yet released in this thread. Tests use it to show that nothing leaks and nothing is released twice. */
export function liveHandles(): Readonly<Record<HandleKind, number>> {
  return { ...live };
}
