import type { Storage } from "@marin/iris";
import type { AnyDataset } from "../plan/ops.js";
import { planStages, sourcesOf } from "../plan/planner.js";
import type { Plan } from "../plan/stage.js";
import { resolveFiles } from "../sources.js";

/** The plan of a dataset, with the files of its sources as they are now. */
export async function makePlan(dataset: AnyDataset, { storage, signal }: { readonly storage: Storage; readonly signal: AbortSignal | undefined }): Promise<Plan> {
  const sources = sourcesOf(dataset);
  const resolved = await Promise.all(
    sources.map(async (source) => [source, source.kind === "files" ? await resolveFiles(source.patterns, { ...source.options, storage, signal }) : []] as const),
  );
  return planStages(dataset, new Map(resolved));
}
