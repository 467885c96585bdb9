import { distance } from "fastest-levenshtein";

/**
 * The candidate closest to a mistyped word, by edit distance ignoring case, for "did you mean" in error messages.
 *
 * @param word - what was typed
 * @param candidates - the words that would have been right; the first of equally close ones wins
 * @returns undefined when nothing is close: more than two edits and more than a third of the word apart
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const lower = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const edits = distance(lower, candidate.toLowerCase());
    // A candidate that shares no letter position with the word is no help, however short both are.
    if (edits < bestDistance && edits < Math.max(word.length, candidate.length)) {
      best = candidate;
      bestDistance = edits;
    }
  }
  return best;
}
