import { distance } from "fastest-levenshtein";

/** The candidate that differs from `text` by the fewest edits; the first of equals. Undefined when there are no candidates. */
export function nearest(text: string, candidates: readonly string[]): string | undefined {
  return best(candidates, (candidate) => distance(text, candidate));
}

/** Like {@link nearest} for dotted paths, where a path's last name alone may be what was meant: `steps` is nearest to `train.steps`. */
export function nearestPath(text: string, candidates: readonly string[]): string | undefined {
  const last = lastName(text);
  return best(candidates, (candidate) => Math.min(distance(text, candidate), distance(last, lastName(candidate)) + 1));
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

function best(candidates: readonly string[], cost: (candidate: string) => number): string | undefined {
  let found: string | undefined;
  let lowest = Infinity;
  for (const candidate of candidates) {
    const value = cost(candidate);
    if (value < lowest) [found, lowest] = [candidate, value];
  }
  return found;
}
