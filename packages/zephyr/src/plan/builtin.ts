import { entry } from "@marin/iris";

/** How many records there are. */
export async function countRecords(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _item of items) count += 1;
  return count;
}

/** The sum of numbers. */
export async function sumNumbers(items: AsyncIterable<unknown>): Promise<number> {
  let sum = 0;
  for await (const item of items) sum += item as number;
  return sum;
}

/** Functions of the plan's own, as workers find them. */
export const builtin = {
  countRecords: entry<typeof countRecords>(import.meta.url, "countRecords"),
  sumNumbers: entry<typeof sumNumbers>(import.meta.url, "sumNumbers"),
} as const;
