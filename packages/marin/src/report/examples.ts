import { join } from "node:path";

import { isMarinError, readJson } from "@marin/rigging";
import { z } from "zod";

import type { DuplicateExample } from "./report.js";

const schema = z.array(
  z.object({
    reason: z.enum(["exact", "near"]),
    similarity: z.number(),
    keptId: z.string(),
    keptSource: z.string(),
    keptText: z.string(),
    removedId: z.string(),
    removedSource: z.string(),
    removedText: z.string(),
  }),
);

/** At most `limit` of the examples that a dedup artifact holds, evenly from the first to the last; none where it holds no file of them. */
export async function readExamples(directory: string, limit: number): Promise<DuplicateExample[]> {
  try {
    const all = await readJson(join(directory, "examples.json"), schema);
    const count = Math.min(limit, all.length);
    return all.filter((_, index) => chosen(index, all.length, count));
  } catch (error) {
    if (isMarinError(error, "RIGGING_NOT_FOUND")) return [];
    throw error;
  }
}

/** Whether the index is one of `count` that are spread evenly over `length`, both ends included. */
function chosen(index: number, length: number, count: number): boolean {
  const places = Array.from({ length: count }, (_, place) => (count === 1 ? 0 : Math.round((place * (length - 1)) / (count - 1))));
  return places.includes(index);
}
