import { MarinError } from "@marin/iris";
import { z } from "zod";

const stageSchema = z.strictObject({
  start: z.int().nonnegative().describe("steps already made when the stage begins; 0 for the first"),
  value: z.int().positive().describe("sequences per update from there on"),
});

/** Sequences per update: a number, or stages that each begin after a number of steps, the first after 0. */
export const batchSizeSchema = z.union([
  z.int().positive(),
  z
    .array(stageSchema)
    .min(1)
    .refine(ascends, "stages must begin at step 0 and each after the one before"),
]);

/** Sequences per update: a number, or stages that each begin after `start` steps. */
export type BatchSize = number | readonly { readonly start: number; readonly value: number }[];

/** How many sequences each update takes, as a function of the steps already made. */
export interface BatchSchedule {
  /** Rows of the batch of a step; steps count from 0. */
  batchSizeAt(step: number): number;
  /** Rows of all batches before a step: where its rows begin in the order of the data. Exact up to 2^53. */
  rowsBefore(step: number): number;
  /** Rows of the largest batch. */
  readonly largest: number;
  /** The largest number of rows that divides every batch: `largest`, where all batches are equal. */
  readonly commonDivisor: number;
}

interface Stage {
  readonly start: number;
  readonly value: number;
  /** Rows before the stage. */
  readonly rows: number;
}

/** The schedule of a batch size. Throws `LEVANTER_CONFIG` for sizes that are no positive integers and stages that do not ascend from step 0. */
export function batchSchedule(batchSize: BatchSize): BatchSchedule {
  const given = typeof batchSize === "number" ? [{ start: 0, value: batchSize }] : batchSize;
  if (given.length === 0 || !ascends(given) || !given.every(({ start, value }) => Number.isSafeInteger(start) && Number.isSafeInteger(value) && value > 0)) {
    throw new MarinError(
      "LEVANTER_CONFIG",
      `batchSize must be a positive integer, or stages of them of which the first starts at step 0 and each after the one before; got ${JSON.stringify(batchSize)}`,
      { data: { batchSize } },
    );
  }
  const stages: Stage[] = [];
  for (const { start, value } of given) {
    const last = stages.at(-1);
    stages.push({ start, value, rows: last === undefined ? 0 : last.rows + (start - last.start) * last.value });
  }
  const [first, ...rest] = stages as [Stage, ...Stage[]];
  const stageAt = (step: number): Stage => stages.findLast(({ start }) => step >= start) ?? first;
  return {
    batchSizeAt: (step) => stageAt(step).value,
    rowsBefore: (step) => {
      const { start, value, rows } = stageAt(step);
      return rows + (step - start) * value;
    },
    largest: Math.max(...stages.map(({ value }) => value)),
    commonDivisor: rest.reduce((divisor, { value }) => greatestCommonDivisor(divisor, value), first.value),
  };
}

/**
 * Rows computed at once: `microbatchSize` where it is given, else the largest number that divides every batch. Throws `LEVANTER_CONFIG` naming the stage
 * whose batches `microbatchSize` does not divide.
 */
export function microbatchSizeOf(batchSize: BatchSize, microbatchSize?: number): number {
  const { commonDivisor } = batchSchedule(batchSize);
  if (microbatchSize === undefined) return commonDivisor;
  const stages = typeof batchSize === "number" ? [{ start: 0, value: batchSize }] : batchSize;
  const bad = stages.find(({ value }) => value % microbatchSize !== 0);
  if (bad === undefined) return microbatchSize;
  throw new MarinError(
    "LEVANTER_CONFIG",
    `microbatchSize ${String(microbatchSize)} must divide batchSize, which is ${String(bad.value)} from step ${String(bad.start)} on; the largest that divides every batch is ${String(commonDivisor)}`,
    { data: { microbatchSize, batchSize: bad.value, start: bad.start } },
  );
}

function ascends(stages: readonly { readonly start: number }[]): boolean {
  return stages.every(({ start }, i) => (i === 0 ? start === 0 : start > (stages[i - 1]?.start ?? 0)));
}

/** The greatest common divisor of two positive integers (Euclid). */
export function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
