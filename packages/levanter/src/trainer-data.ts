import { MarinError } from "@marin/iris";
import type { Batch } from "./data/batch.js";
import { TokenBatches } from "./data/token-batches.js";
import { TokenMixture, type TokenMixtureOptions } from "./data/mixture.js";
import { TokenStore } from "./data/token-store.js";
import { streamKey } from "./rng/streams.js";
import type { TrainerConfig } from "./trainer-config.js";

/** Several token stores to train on, each with its share of the rows. */
export type TokenMixtureSources = Pick<TokenMixtureOptions, "stores" | "weights" | "blockSize">;

/** What a run trains on: batches by step, and what they are drawn from. */
export interface TrainingData {
  /** Every store that batches are drawn from, at least one. */
  readonly stores: readonly TokenStore[];
  /** Names the contents, and how they are mixed. */
  readonly fingerprint: string;
  /** The batch of a step; steps count from 0. */
  batch(step: number): Batch;
}

/**
 * Opens what a run trains on: what it is handed, or what its configuration names. Throws `LEVANTER_CONFIG` where there is nothing or both `dataset` and
 * `mixture`; what opening a store and planning a mixture throw.
 */
export async function openTrainingData(given: TokenStore | TokenMixtureSources | undefined, config: TrainerConfig): Promise<TrainingData> {
  const { dataset, mixture } = config;
  const order = { sequenceLength: config.sequenceLength, batchSize: config.batchSize, key: streamKey(config.seed, "data") };
  if (given instanceof TokenStore) return ofStore(given, order);
  if (given !== undefined) return ofMixture(new TokenMixture({ ...given, ...order }));
  if (dataset !== undefined && mixture !== undefined) {
    throw new MarinError("LEVANTER_CONFIG", 'the trainer\'s configuration names both "dataset" and "mixture": leave one out', { data: { field: "mixture" } });
  }
  if (mixture !== undefined) return ofMixture(await TokenMixture.open(mixture, order));
  if (dataset !== undefined) return ofStore(await TokenStore.open(dataset), order);
  throw new MarinError("LEVANTER_CONFIG", 'there are no tokens to train: name them in the trainer\'s configuration as "dataset" or "mixture", or hand them to train() as "tokens"', { data: { field: "dataset" } });
}

type Order = Pick<TokenMixtureOptions, "sequenceLength" | "batchSize" | "key">;

function ofStore(store: TokenStore, order: Order): TrainingData {
  const batches = new TokenBatches({ ...order, store });
  return { stores: [store], fingerprint: store.fingerprint, batch: (step) => batches.batch(step) };
}

function ofMixture(mixture: TokenMixture): TrainingData {
  return { stores: Object.values(mixture.stores), fingerprint: mixture.fingerprint, batch: (step) => mixture.batch(step) };
}
