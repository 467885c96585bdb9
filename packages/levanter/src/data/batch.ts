/** Tokens in a row, the last of them an end-of-text token: a token store, or one document. */
export interface TokenSequence {
  readonly tokens: ArrayLike<number>;
  readonly tokenCount: number;
}

/** Rows of tokens with what the model should predict at each place. All arrays are row-major [B,T]. */
export interface Batch {
  /** Input tokens. */
  readonly tokens: Int32Array;
  /** The token that follows each input token. */
  readonly targets: Int32Array;
  /** Weight of each place's loss: 1, or 0 where the row is padding. */
  readonly weights: Float32Array;
  /** Σ weights. */
  readonly weightSum: number;
}

/** Allocates an all-padding batch of `rows` x `sequenceLength`. */
export function emptyBatch(rows: number, sequenceLength: number): { -readonly [K in keyof Batch]: Batch[K] } {
  const size = rows * sequenceLength;
  return { tokens: new Int32Array(size), targets: new Int32Array(size), weights: new Float32Array(size), weightSum: 0 };
}

/**
 * Fills one row with the predictions of the targets `first` to `first + sequenceLength - 1` (positions in the store), each from the token before it;
 * the store's very first token is predicted from `initialToken`. Places past the store's end stay padding. Returns the number of targets.
 */
export function fillRow(batch: Batch, row: number, sequenceLength: number, store: TokenSequence, first: number, initialToken: number): number {
  const count = Math.max(0, Math.min(sequenceLength, store.tokenCount - first));
  const at = row * sequenceLength;
  for (let i = 0; i < count; i++) {
    const target = first + i;
    batch.tokens[at + i] = target === 0 ? initialToken : (store.tokens[target - 1] ?? 0);
    batch.targets[at + i] = store.tokens[target] ?? 0;
    batch.weights[at + i] = 1;
  }
  return count;
}

/** The token that closes the store's documents (end of text): the context in which the first document's first token is predicted. */
export function closingToken(store: TokenSequence): number {
  return store.tokens[store.tokenCount - 1] ?? 0;
}
