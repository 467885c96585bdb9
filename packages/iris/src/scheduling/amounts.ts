import type { Device, Resources } from "../jobs/job-spec.js";
import type { Dimension } from "../jobs/model.js";
import { formatBytes } from "../platform.js";

/** Resources as whole numbers, one for each dimension: thousandths of processors, bytes of memory, bytes of disk, devices. */
export type Amounts = readonly [cpu: number, memoryBytes: number, diskBytes: number, devices: number];

/** How many dimensions there are. */
export const dimensionCount = 4;

/** The resources as amounts: processors in thousandths, so that fractions add up exactly. */
export function amountsOf({ cpu, memoryBytes, diskBytes, device }: Resources): Amounts {
  return [Math.round(cpu * 1000), memoryBytes, diskBytes, device?.count ?? 0];
}

/** Whether a row of a table has room for the amounts. What is not asked for always has. */
export function fits([cpu, memory, disk, devices]: Amounts, table: Float64Array, row: number): boolean {
  const at = row * dimensionCount;
  return (
    (cpu === 0 || cpu <= (table[at] as number)) &&
    (memory === 0 || memory <= (table[at + 1] as number)) &&
    (disk === 0 || disk <= (table[at + 2] as number)) &&
    (devices === 0 || devices <= (table[at + 3] as number))
  );
}

/** The most that any row of a table has of each, as a table of one row. */
export function mostOf(table: Float64Array): Float64Array {
  const most = new Float64Array(dimensionCount);
  for (let at = 0; at < table.length; at += 1) most[at % dimensionCount] = Math.max(most[at % dimensionCount] as number, table[at] as number);
  return most;
}

/** How often the amounts fit into a row of a table, at most `most` times. */
export function timesFitting(asked: Amounts, table: Float64Array, row: number, most: number): number {
  let times = most;
  for (let dimension = 0; dimension < dimensionCount && times > 0; dimension += 1) {
    const amount = asked[dimension] as number;
    if (amount > 0) times = Math.min(times, Math.floor((table[row * dimensionCount + dimension] as number) / amount));
  }
  return Math.max(0, times);
}

/** Adds the amounts, `sign` times, to a row of a table. */
export function addTo(table: Float64Array, row: number, amounts: Amounts, sign: number): void {
  const at = row * dimensionCount;
  for (let dimension = 0; dimension < dimensionCount; dimension += 1) table[at + dimension] = (table[at + dimension] as number) + sign * (amounts[dimension] as number);
}

/** The name of a dimension: that of devices is their kind. */
export function dimensionName(dimension: number, device: Device | undefined): Extract<Dimension, "cpu" | "memoryBytes" | "diskBytes" | "gpu" | "tpu"> {
  return (["cpu", "memoryBytes", "diskBytes"] as const)[dimension] ?? device?.kind ?? "gpu";
}

/** An amount for people. */
export function formatAmount(dimension: number, amount: number): string {
  if (dimension === 0) return String(amount / 1000);
  return dimension === 3 ? String(amount) : formatBytes(amount);
}

/** Amounts for people: "cpu 4, memoryBytes 2GiB". */
export function formatAmounts(amounts: Amounts, device: Device | undefined): string {
  const parts = amounts.flatMap((amount, dimension) => (amount > 0 ? [`${dimensionName(dimension, device)} ${formatAmount(dimension, amount)}`] : []));
  return parts.length === 0 ? "nothing" : parts.join(", ");
}
