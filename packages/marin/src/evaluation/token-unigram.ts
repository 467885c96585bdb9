/**
 * The token unigram with add-one smoothing, p(t) = (count(t) + 1) / (N + V): how well a model does that knows only how frequent
 * each token is. It predicts the same events as a language model over these tokens, the end-of-text tokens included.
 */
export class TokenUnigram {
  readonly #bits: Float64Array;

  /**
   * @param tokens - all training tokens
   * @param vocabSize - number of tokens in the vocabulary
   */
  constructor(tokens: ArrayLike<number>, vocabSize: number) {
    const counts = new Float64Array(vocabSize).fill(1);
    for (let i = 0; i < tokens.length; i += 1) {
      const token = tokens[i] as number;
      counts[token] = (counts[token] as number) + 1;
    }
    this.#bits = counts.map((count) => Math.log2((tokens.length + vocabSize) / count));
  }

  /** The probability of a token. */
  probability(token: number): number {
    return 2 ** -(this.#bits[token] as number);
  }

  /** Bits needed for all of the tokens. */
  bits(tokens: ArrayLike<number>): number {
    let bits = 0;
    for (let i = 0; i < tokens.length; i += 1) bits += this.#bits[tokens[i] as number] as number;
    return bits;
  }
}
