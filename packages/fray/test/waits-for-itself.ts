import { entry, loadEntry } from "../src/index.js";

export function twice(x: number): number {
  return 2 * x;
}

/** At the top level: the module is not loaded before it is. */
export const work = await loadEntry(entry<typeof twice>(import.meta.url, "twice"));
