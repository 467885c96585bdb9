import { createHash } from "node:crypto";
import { MarinError } from "@marin/iris";
import type { RandomKey } from "../rng/random-key.js";
import { batchSchedule, type BatchSchedule, type BatchSize } from "./batch-schedule.js";
import { emptyBatch, type Batch } from "./batch.js";
import { MixturePlan, weightedNames, weightStages, type MixtureConfig, type MixtureWeights } from "./mixture-plan.js";
import { TokenStore } from "./token-store.js";
import { TokenWindows } from "./token-windows.js";

/** What a mixture is made from. */
export interface TokenMixtureOptions {
  /** Token stores by name; the order of a store's data follows from its name. */
  readonly stores: Readonly<Record<string, TokenStore>>;
  /** Weight of each store by name, of which only the ratios count; or stages of them, each from a step on. Weight 0 leaves a store out. */
  readonly weights: MixtureWeights;
  /** Rows of a block: in each block every store has exactly its share. 1 to 65535. Default: 2048. */
  readonly blockSize?: number | undefined;
  /** Tokens a row, T. */
  readonly sequenceLength: number;
  /** Rows a batch, B: a number, or stages of them. */
  readonly batchSize: BatchSize;
  /** Names the order of the data. */
  readonly key: RandomKey;
}

/**
 * Training batches whose rows come from several token stores by weight, in an order that is a pure function of (key, step). Each store is visited in
 * its own order, every window once an epoch, and begins again where it is exhausted; in each block of rows every store has exactly its share.
 */
export class TokenMixture {
  /** The stores that have a weight above 0 in some stage, by name. */
  readonly stores: Readonly<Record<string, TokenStore>>;
  /** SHA-256 of what is mixed and how: the stores' contents and names, weights and block size. */
  readonly fingerprint: string;
  readonly #options: TokenMixtureOptions;
  readonly #schedule: BatchSchedule;
  readonly #plan: MixturePlan;
  readonly #windows: Readonly<Record<string, TokenWindows>>;

  /**
   * Throws `LEVANTER_TOKENS_EMPTY` when a store with a weight holds no token, `LEVANTER_MIXTURE_STAGE` when a stage of weights begins inside a block
   * (the message names steps that do not), `LEVANTER_CONFIG` for weights that do not fit the stores or the block.
   */
  constructor(options: TokenMixtureOptions) {
    const { stores, weights, blockSize = 2048, sequenceLength, batchSize, key } = options;
    requireWeights(Object.keys(stores), weights);
    this.#options = options;
    this.#schedule = batchSchedule(batchSize);
    this.#plan = new MixturePlan({ weights, blockSize, batchSize, key: key.fold("blocks") });
    const weighted = weightedNames(weights);
    const used = Object.entries(stores).filter(([name]) => weighted.has(name)).sort(byName);
    this.stores = Object.fromEntries(used);
    this.#windows = Object.fromEntries(used.map(([name, store]) => [name, new TokenWindows(store, sequenceLength, key.fold("stores").fold(name))]));
    const stages = weightStages(weights).map((stage) => [stage.start, Object.entries(aboveZero(stage.weights)).sort(byName)]);
    this.fingerprint = createHash("sha256").update(JSON.stringify([blockSize, stages, used.map(([name, store]) => [name, store.fingerprint])])).digest("hex");
  }

  /**
   * Opens the stores that a configuration names, those that never have a weight left out. Throws what the constructor and `TokenStore.open` throw, and
   * `LEVANTER_CONFIG` for weights of stores that have no directory.
   */
  static async open(config: MixtureConfig, order: Pick<TokenMixtureOptions, "sequenceLength" | "batchSize" | "key">): Promise<TokenMixture> {
    const { datasets, weights, blockSize } = config;
    requireWeights(Object.keys(datasets), weights);
    const stores: Record<string, TokenStore> = {};
    for (const name of weightedNames(weights)) stores[name] = await TokenStore.open(datasets[name] ?? "");
    return new TokenMixture({ ...order, stores, weights: weightStages(weights).map((stage) => ({ ...stage, weights: aboveZero(stage.weights) })), blockSize });
  }

  /** The store that a row comes from and the window (0 to its count - 1) that it holds; rows counted through all batches from 0. */
  windowAt(row: number): { readonly store: string; readonly window: number } {
    const { name, index } = this.#plan.at(row);
    return { store: name, window: this.#of(name).at(index) };
  }

  /** The batch of a step; steps count from 0. */
  batch(step: number): Batch {
    const { sequenceLength } = this.#options;
    const rows = this.#schedule.batchSizeAt(step);
    const first = this.#schedule.rowsBefore(step);
    const batch = emptyBatch(rows, sequenceLength);
    for (let row = 0; row < rows; row++) {
      const { name, index } = this.#plan.at(first + row);
      const windows = this.#of(name);
      batch.weightSum += windows.fill(batch, row, windows.at(index));
    }
    return batch;
  }

  #of(name: string): TokenWindows {
    const windows = this.#windows[name];
    if (windows === undefined) throw new MarinError("LEVANTER_CONFIG", `the mixture has no store "${name}"`, { data: { name } });
    return windows;
  }
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

function aboveZero(weights: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(weights).filter(([, weight]) => weight > 0));
}

/** Throws `LEVANTER_CONFIG` unless weights and stores have the same names: a misspelt one must not leave a store out. */
function requireWeights(names: readonly string[], weights: MixtureWeights): void {
  const mentioned = new Set(weightStages(weights).flatMap((stage) => Object.keys(stage.weights)));
  const unknown = [...mentioned].filter((name) => !names.includes(name));
  const missing = names.filter((name) => !mentioned.has(name));
  if (unknown.length === 0 && missing.length === 0) return;
  const problem = unknown.length > 0 ? `there is a weight for ${unknown.join(", ")}, but no such store` : `${missing.join(", ")} has no weight; give it one, 0 to leave it out`;
  throw new MarinError("LEVANTER_CONFIG", `a mixture of ${names.join(", ")}: ${problem}`, { data: { names, unknown, missing } });
}
