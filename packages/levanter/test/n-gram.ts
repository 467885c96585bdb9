/** Counts of what follows each context, of one length. */
type Counts = Map<string, Map<number, number>>;

/**
 * An n-gram model of tokens with Witten-Bell smoothing (Witten and Bell, "The zero-frequency problem", IEEE Transactions on Information Theory, 1991):
 * P(c | h) = (N(hc) + D(h)·P(c | h')) / (N(h) + D(h)), with D(h) the number of different tokens that follow h, h' the context without its
 * first token, and 1/V at the end.
 *
 * @param order - n: tokens of context and prediction together
 * @returns bits that a document costs, each token predicted from those before it
 */
export function nGramModel(documents: readonly (readonly number[])[], order: number, vocabSize: number): (document: readonly number[]) => number {
  const counts: Counts[] = Array.from({ length: order }, () => new Map<string, Map<number, number>>());
  const context = (document: readonly number[], at: number, length: number): string => document.slice(Math.max(0, at - length), at).join(" ");
  for (const document of documents) {
    document.forEach((token, at) => {
      counts.forEach((table, length) => {
        if (at < length) return;
        const key = context(document, at, length);
        const followers = table.get(key) ?? new Map<number, number>();
        table.set(key, followers.set(token, (followers.get(token) ?? 0) + 1));
      });
    });
  }
  const probability = (document: readonly number[], at: number, length: number): number => {
    if (length < 0) return 1 / vocabSize;
    const shorter = probability(document, at, length - 1);
    const followers = at < length ? undefined : counts[length]?.get(context(document, at, length));
    if (followers === undefined) return shorter;
    const total = [...followers.values()].reduce((sum, count) => sum + count, 0);
    return ((followers.get(document[at] ?? 0) ?? 0) + followers.size * shorter) / (total + followers.size);
  };
  return (document) => document.reduce((bits, _token, at) => bits - Math.log2(probability(document, at, order - 1)), 0);
}
