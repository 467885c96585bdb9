import { MarinError } from "@marin/iris";
import { permute } from "../rng/permute.js";
import type { RandomKey } from "../rng/random-key.js";
import { closingToken, fillRow, type Batch } from "./batch.js";
import type { TokenStore } from "./token-store.js";

/**
 * A token store cut into windows of T consecutive targets, in an endless order: every token is a target exactly once an epoch, the last window is padded
 * with weight 0, and each epoch visits the windows in its own random order.
 */
export class TokenWindows {
  /** Windows an epoch. */
  readonly count: number;
  readonly #store: TokenStore;
  readonly #sequenceLength: number;
  readonly #key: RandomKey;
  readonly #initialToken: number;

  /** Throws `LEVANTER_TOKENS_EMPTY` when the store holds no token. */
  constructor(store: TokenStore, sequenceLength: number, key: RandomKey) {
    if (store.tokenCount === 0) {
      throw new MarinError("LEVANTER_TOKENS_EMPTY", `${store.directory} holds no tokens to train on`, { data: { directory: store.directory } });
    }
    this.#store = store;
    this.#sequenceLength = sequenceLength;
    this.#key = key;
    this.#initialToken = closingToken(store);
    this.count = Math.ceil(store.tokenCount / sequenceLength);
  }

  /** The window (0 to `count - 1`) at a place of the endless order, from 0. */
  at(index: number): number {
    return permute(this.#key.fold(Math.floor(index / this.count)), this.count, index % this.count);
  }

  /** Fills a row of a batch with a window; returns the number of targets. */
  fill(batch: Batch, row: number, window: number): number {
    return fillRow(batch, row, this.#sequenceLength, this.#store, window * this.#sequenceLength, this.#initialToken);
  }
}
