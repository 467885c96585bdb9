import type { RandomKey } from "../rng/random-key.js";
import { batchSchedule, type BatchSchedule, type BatchSize } from "./batch-schedule.js";
import { emptyBatch, type Batch } from "./batch.js";
import type { TokenStore } from "./token-store.js";
import { TokenWindows } from "./token-windows.js";

/** How a token store is cut into training batches. */
export interface TokenBatchesOptions {
  readonly store: TokenStore;
  /** Tokens a row, T. */
  readonly sequenceLength: number;
  /** Rows a batch, B: a number, or stages that each begin after a number of steps. */
  readonly batchSize: BatchSize;
  /** Names the order of the data. */
  readonly key: RandomKey;
}

/**
 * Training batches whose order is a pure function of (key, step): nothing but the step number is needed to resume.
 *
 * The store is cut into windows of T consecutive targets, so every token is a target exactly once an epoch; the last window is padded with weight 0.
 * Each epoch visits the windows in its own random order, and batches run on across epochs. The order of the rows does not depend on the batch size.
 */
export class TokenBatches {
  /** Windows an epoch. */
  readonly windowCount: number;
  readonly #sequenceLength: number;
  readonly #schedule: BatchSchedule;
  readonly #windows: TokenWindows;

  /** Throws `LEVANTER_TOKENS_EMPTY` when the store holds no token, `LEVANTER_CONFIG` for a batch size that is none. */
  constructor({ store, sequenceLength, batchSize, key }: TokenBatchesOptions) {
    this.#sequenceLength = sequenceLength;
    this.#schedule = batchSchedule(batchSize);
    this.#windows = new TokenWindows(store, sequenceLength, key);
    this.windowCount = this.#windows.count;
  }

  /** The window (0 to `windowCount - 1`) that a row holds, rows counted through all batches from the first. */
  windowAt(row: number): number {
    return this.#windows.at(row);
  }

  /** The batch of a step; steps count from 0. */
  batch(step: number): Batch {
    const rows = this.#schedule.batchSizeAt(step);
    const first = this.#schedule.rowsBefore(step);
    const batch = emptyBatch(rows, this.#sequenceLength);
    for (let row = 0; row < rows; row++) batch.weightSum += this.#windows.fill(batch, row, this.#windows.at(first + row));
    return batch;
  }
}
