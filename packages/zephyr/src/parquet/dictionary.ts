import type { StoredForm } from "./stored-form.js";

/** Distinct values, and where each value stands among them. */
export interface Dictionary {
  readonly values: readonly unknown[];
  readonly places: Uint32Array;
}

/** A dictionary is read whole before the first value: larger ones are not made. */
const mostBytes = 1 << 20;
/** Values looked at before a dictionary is begun. */
const sampled = 256;

/** A dictionary where one saves at least half of the bytes, else undefined. */
export function dictionaryOf(values: readonly unknown[], form: StoredForm): Dictionary | undefined {
  const { key } = form;
  if (key === undefined || values.length < 2 || !promises(values, key)) return undefined;
  const known = new Map<unknown, number>();
  const distinct: unknown[] = [];
  const places = new Uint32Array(values.length);
  let [plain, held] = [0, 0];
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    const own = key(value);
    const size = form.size(value);
    plain += size;
    let place = known.get(own);
    if (place === undefined) {
      place = distinct.length;
      known.set(own, place);
      distinct.push(value);
      held += size;
      if (held > mostBytes) return undefined;
    }
    places[index] = place;
  }
  const bits = 32 - Math.clz32(distinct.length - 1);
  return 2 * (held + (bits * values.length) / 8) <= plain ? { values: distinct, places } : undefined;
}

/** Whether values spread over the column are often equal. */
function promises(values: readonly unknown[], key: (value: unknown) => unknown): boolean {
  const step = Math.max(1, Math.floor(values.length / sampled));
  const seen = new Set<unknown>();
  let looked = 0;
  for (let index = 0; index < values.length; index += step) {
    seen.add(key(values[index]));
    looked += 1;
  }
  return 2 * seen.size <= looked;
}
