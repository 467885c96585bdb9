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

/** The examples that a dedup artifact holds, at most `limit`; none where it holds no file of them. */
export async function readExamples(directory: string, limit: number): Promise<DuplicateExample[]> {
  try {
    return (await readJson(join(directory, "examples.json"), schema)).slice(0, limit);
  } catch (error) {
    if (isMarinError(error, "RIGGING_NOT_FOUND")) return [];
    throw error;
  }
}
