import { MarinError } from "@marin/iris";
import { z } from "zod";
import { permute } from "../rng/permute.js";
import type { RandomKey } from "../rng/random-key.js";
import { batchSchedule, greatestCommonDivisor, type BatchSize } from "./batch-schedule.js";

const weightsSchema = z.record(z.string().min(1), z.number().nonnegative());
const LARGEST_BLOCK = 2 ** 16 - 1;

const stageSchema = z.strictObject({
  start: z.int().nonnegative().describe("steps already made when the stage begins; 0 for the first"),
  weights: weightsSchema.describe("weight of each store from there on"),
});

/** Several token stores, and the share of the batches' rows that each has. */
export const mixtureSchema = z.strictObject({
  datasets: z.record(z.string().min(1), z.string().min(1)).describe("directory of each token store, by a name of your choice; the order of its data follows from the name"),
  weights: z
    .union([weightsSchema, z.array(stageSchema).min(1)])
    .describe("weight of each store by name; only their ratios count, 0 leaves a store out. Or stages of weights, each from a step on"),
  blockSize: z.int().min(1).max(LARGEST_BLOCK).default(2048).describe("rows of a block: in each block every store has exactly its share. 1 to 65535"),
});

/** A validated mixture: stores by directory, and their weights. */
export type MixtureConfig = z.output<typeof mixtureSchema>;

/** Weights of stores by name, or stages of them that each begin after `start` steps. */
export type MixtureWeights = Readonly<Record<string, number>> | readonly { readonly start: number; readonly weights: Readonly<Record<string, number>> }[];

/** What a mixture's order is made from. */
export interface MixturePlanOptions {
  /** Weights of the stores by name; the order of the names does not matter. */
  readonly weights: MixtureWeights;
  /** Rows of a block, 1 to 65535. */
  readonly blockSize: number;
  readonly batchSize: BatchSize;
  /** Names the order inside blocks. */
  readonly key: RandomKey;
}

/** Rows of one block that each store has, in the order of the stores' names; stores without any are left out. */
interface Stage {
  readonly firstBlock: number;
  readonly names: readonly string[];
  readonly counts: readonly number[];
  /** Rows that each store had in the stages before. */
  readonly before: ReadonlyMap<string, number>;
}

/**
 * Rows that each weight gives out of a block: the whole part of its share, the remainder to the largest weight (the first of equal ones). Throws
 * `LEVANTER_CONFIG` where a weight above 0 comes to no row at all, naming the smallest block in which it has one.
 */
export function blockCounts(weights: Readonly<Record<string, number>>, blockSize: number): ReadonlyMap<string, number> {
  const negative = Object.entries(weights).find(([, weight]) => !(weight >= 0));
  if (negative !== undefined) throw new MarinError("LEVANTER_CONFIG", `a mixture's weights must be 0 or more, got ${String(negative[1])} for ${negative[0]}`, { data: { weights } });
  const positive = Object.entries(weights).filter(([, weight]) => weight > 0);
  const total = positive.reduce((sum, [, weight]) => sum + weight, 0);
  const counts = new Map(positive.map(([name, weight]) => [name, Math.trunc((weight * blockSize) / total)]));
  let largest = positive[0];
  for (const entry of positive) if (largest === undefined || entry[1] > largest[1]) largest = entry;
  if (largest === undefined || !Number.isFinite(total)) {
    throw new MarinError("LEVANTER_CONFIG", "a mixture needs at least one store whose weight is above 0, and finite weights", { data: { weights } });
  }
  const given = [...counts.values()].reduce((sum, count) => sum + count, 0);
  counts.set(largest[0], (counts.get(largest[0]) ?? 0) + blockSize - given);
  for (const [name, weight] of positive) {
    if (counts.get(name) !== 0) continue;
    const needed = Math.ceil(total / weight);
    throw new MarinError(
      "LEVANTER_CONFIG",
      `the mixture's store "${name}" has a share of ${String(weight / total)}, which is no row in a block of ${String(blockSize)}; take a blockSize of at least ${String(needed)}, or leave the store out with weight 0`,
      { data: { name, weight, blockSize, needed } },
    );
  }
  return counts;
}

/**
 * Which store each row of a run comes from, and the how-manieth of its rows it is: a pure function of the row. Rows go through blocks; in each block
 * every store has exactly its share, in an order of the block's own (the rule of Levanter's mixtures).
 */
export class MixturePlan {
  readonly #stages: readonly Stage[];
  readonly #options: MixturePlanOptions;

  /**
   * Throws `LEVANTER_CONFIG` for weights below 0, of which none is above 0, or too small for the block, and
   * `LEVANTER_MIXTURE_STAGE` for a stage that begins inside a block.
   */
  constructor(options: MixturePlanOptions) {
    const { weights, blockSize } = options;
    if (!Number.isInteger(blockSize) || blockSize < 1 || blockSize > LARGEST_BLOCK) {
      throw new MarinError("LEVANTER_CONFIG", `a mixture's blockSize must be an integer from 1 to ${String(LARGEST_BLOCK)}, got ${String(blockSize)}`, { data: { blockSize } });
    }
    this.#options = options;
    const given = weightStages(weights);
    if (given[0]?.start !== 0) throw new MarinError("LEVANTER_CONFIG", "the first stage of a mixture's weights must start at step 0", { data: { weights } });
    const stages: Stage[] = [];
    for (const stage of given) stages.push(this.#stage(stage.start, stage.weights, stages.at(-1)));
    this.#stages = stages;
  }

  /** The store of a row, and the row's place among all of the store's rows; rows counted through all batches from 0. */
  at(row: number): { readonly name: string; readonly index: number } {
    const { blockSize, key } = this.#options;
    const block = Math.floor(row / blockSize);
    const stage = this.#stages.findLast(({ firstBlock }) => block >= firstBlock) ?? (this.#stages[0] as Stage);
    let rank = permute(key.fold(block), blockSize, row % blockSize);
    let which = 0;
    for (; rank >= (stage.counts[which] ?? Infinity); which++) rank -= stage.counts[which] ?? 0;
    const name = stage.names[which] ?? "";
    return { name, index: (stage.before.get(name) ?? 0) + (block - stage.firstBlock) * (stage.counts[which] ?? 0) + rank };
  }

  #stage(start: number, weights: Readonly<Record<string, number>>, previous: Stage | undefined): Stage {
    const { blockSize } = this.#options;
    const sorted = Object.keys(weights).sort();
    const counts = blockCounts(Object.fromEntries(sorted.map((name) => [name, weights[name] ?? 0])), blockSize);
    const firstBlock = this.#blockAt(start);
    if (previous !== undefined && firstBlock <= previous.firstBlock) {
      throw new MarinError("LEVANTER_CONFIG", `each stage of a mixture's weights must start after the one before, got one at step ${String(start)}`, { data: { start } });
    }
    const present = sorted.filter((name) => counts.has(name));
    const before = new Map(previous?.before);
    previous?.names.forEach((name, i) => before.set(name, (before.get(name) ?? 0) + (firstBlock - previous.firstBlock) * (previous.counts[i] ?? 0)));
    return { firstBlock, names: present, counts: present.map((name) => counts.get(name) ?? 0), before };
  }

  #blockAt(start: number): number {
    const { blockSize, batchSize } = this.#options;
    const rows = batchSchedule(batchSize).rowsBefore(start);
    if (rows % blockSize === 0) return rows / blockSize;
    const valid = nearestStarts(start, blockSize, batchSize);
    const advice = valid.length === 0 ? "no step does; change blockSize or batchSize" : `the nearest steps that do are ${valid.join(" and ")}`;
    throw new MarinError(
      "LEVANTER_MIXTURE_STAGE",
      `a mixture's stage at step ${String(start)} begins inside a block: ${String(rows)} rows are no multiple of blockSize ${String(blockSize)}; ${advice}`,
      { data: { start, rows, blockSize, valid } },
    );
  }
}

/** The nearest steps before and after `start` that begin a block; 0, the run's beginning, is no stage's. */
function nearestStarts(start: number, blockSize: number, batchSize: BatchSize): number[] {
  const schedule = batchSchedule(batchSize);
  const begins = (step: number): boolean => schedule.rowsBefore(step) % blockSize === 0;
  // Past the last change of the batch size, blocks begin with this period.
  const lastChange = typeof batchSize === "number" ? 0 : (batchSize.at(-1)?.start ?? 0);
  const end = Math.max(start, lastChange) + blockSize / greatestCommonDivisor(blockSize, schedule.batchSizeAt(lastChange));
  const found: number[] = [];
  for (let step = start - 1; step > 0 && found.length === 0; step--) if (begins(step)) found.push(step);
  for (let step = start + 1; step <= end; step++) {
    if (!begins(step)) continue;
    found.push(step);
    break;
  }
  return found;
}

/** Weights as stages; weights that never change are one stage. */
export function weightStages(weights: MixtureWeights): readonly { readonly start: number; readonly weights: Readonly<Record<string, number>> }[] {
  return isStaged(weights) ? weights : [{ start: 0, weights }];
}

/** Names of the stores that some stage gives a weight above 0. */
export function weightedNames(weights: MixtureWeights): ReadonlySet<string> {
  return new Set(weightStages(weights).flatMap((stage) => Object.entries(stage.weights).flatMap(([name, weight]) => (weight > 0 ? [name] : []))));
}

function isStaged(weights: MixtureWeights): weights is Exclude<MixtureWeights, Readonly<Record<string, number>>> {
  return Array.isArray(weights);
}
