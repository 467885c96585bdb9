import { MarinError } from "@marin/iris";
import { permute } from "../rng/permute.js";
import type { RandomKey } from "../rng/random-key.js";
import { closingToken, emptyBatch, fillRow, type Batch } from "./batch.js";
import type { TokenStore } from "./token-store.js";

/** How a token store is cut into training batches. */
export interface TokenBatchesOptions {
  readonly store: TokenStore;
  /** Tokens a row, T. */
  readonly sequenceLength: number;
  /** Rows a batch, B. */
  readonly batchSize: number;
  /** Names the order of the data. */
  readonly key: RandomKey;
}

/**
 * Training batches whose order is a pure function of (key, step): nothing but the step number is needed to resume.
 *
 * The store is cut into windows of T consecutive targets, so every token is a target exactly once an epoch; the last window is padded with weight 0.
 * Each epoch visits the windows in its own random order, and batches run on across epochs.
 */
export class TokenBatches {
  /** Windows an epoch. */
  readonly windowCount: number;
  readonly #options: TokenBatchesOptions;
  readonly #initialToken: number;

  /** Throws `LEVANTER_TOKENS_EMPTY` when the store holds no token. */
  constructor(options: TokenBatchesOptions) {
    const { store, sequenceLength } = options;
    if (store.tokenCount === 0) {
      throw new MarinError("LEVANTER_TOKENS_EMPTY", `${store.directory} holds no tokens to train on`, { data: { directory: store.directory } });
    }
    this.#options = options;
    this.#initialToken = closingToken(store);
    this.windowCount = Math.ceil(store.tokenCount / sequenceLength);
  }

  /** The window (0 to `windowCount - 1`) that a row holds, rows counted through all batches from the first. */
  windowAt(row: number): number {
    const epoch = Math.floor(row / this.windowCount);
    return permute(this.#options.key.fold(epoch), this.windowCount, row % this.windowCount);
  }

  /** The batch of a step; steps count from 0. */
  batch(step: number): Batch {
    const { store, sequenceLength, batchSize } = this.#options;
    const batch = emptyBatch(batchSize, sequenceLength);
    for (let row = 0; row < batchSize; row++) {
      const window = this.windowAt(step * batchSize + row);
      batch.weightSum += fillRow(batch, row, sequenceLength, store, window * sequenceLength, this.#initialToken);
    }
    return batch;
  }
}
