import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { MarinError } from "@marin/rigging";

/** Well-known corpora that would have to be downloaded first. */
const publishedDatasets: ReadonlySet<string> = new Set(["openwebtext", "openwebtext2", "c4", "dclm", "dolma", "fineweb", "fineweb-edu", "pile", "redpajama", "slimpajama", "tinystories", "wikipedia", "wikitext"]);

/**
 * The folder of texts that a configuration names as its dataset.
 *
 * @param dataset - a folder, relative to the working directory, or its file: URL; or a published corpus by name
 * @returns absolute path of an existing folder
 * @throws MarinError `MARIN_DATASET_UNAVAILABLE` for a published corpus, `MARIN_DATASET_NOT_FOUND` when there is no such folder; both say what to give instead
 */
export async function datasetFolder(dataset: string, workingDirectory: string): Promise<string> {
  const path = dataset.startsWith("file:") ? fileURLToPath(dataset) : resolve(workingDirectory, dataset);
  if ((await stat(path).catch(() => undefined))?.isDirectory() === true) return path;
  const instead = "give a folder of texts (.txt, .md, .jsonl, .csv, .parquet and others), such as ./my-texts";
  if (publishedDatasets.has(dataset.toLowerCase().replace(/[\s_]+/g, "-"))) {
    throw new MarinError("MARIN_DATASET_UNAVAILABLE", `the dataset ${dataset} is a published corpus, and downloading is not supported yet: ${instead}`, { data: { dataset } });
  }
  throw new MarinError("MARIN_DATASET_NOT_FOUND", `the dataset ${JSON.stringify(dataset)} is no folder (looked for ${path}): ${instead}`, { data: { dataset, path } });
}
