import { resolve } from "node:path";
import type { Storage } from "@marin/iris";
import type { AnyDataset } from "../plan/ops.js";
import { planStages, sourcesOf } from "../plan/planner.js";
import type { Plan } from "../plan/stage.js";
import { isLocal } from "../readers/chunks.js";
import { resolveFiles } from "../sources.js";
import { badPattern } from "../writers/output-paths.js";

/**
 * The plan of a dataset, with the files of its sources as they are now.
 *
 * @throws MarinError ZEPHYR_BAD_PATTERN when an output is an input too: executed again, the dataset would read what it has written
 */
export async function makePlan(dataset: AnyDataset, { storage, signal }: { readonly storage: Storage; readonly signal: AbortSignal | undefined }): Promise<Plan> {
  const sources = sourcesOf(dataset);
  const resolved = await Promise.all(
    sources.map(async (source) => [source, source.kind === "files" ? await resolveFiles(source.patterns, { ...source.options, storage, signal }) : []] as const),
  );
  const plan = planStages(dataset, new Map(resolved));
  const inputs = new Set(resolved.flatMap(([, files]) => files.map(({ path }) => placeOf(path))));
  for (const { output } of plan.stages) {
    if (output.kind !== "write") continue;
    const replaced = output.paths.find((path) => inputs.has(placeOf(path)));
    if (replaced !== undefined) throw badPattern(output.write.pattern, `${replaced} is read by the same dataset, which would read its own output when it is executed again: write to another directory, or to names that the input's pattern does not match`, { path: replaced });
  }
  return plan;
}

/** The same text for all that name one file. */
function placeOf(path: string): string {
  return isLocal(path) ? resolve(path) : path;
}
