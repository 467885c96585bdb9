import { join } from "node:path";
import { canonicalJson } from "@marin/finestore";
import { modelOfCheckpoint } from "@marin/levanter";
import { isMarinError, MarinError, readJson, sha256File, writeFileAtomic } from "@marin/rigging";
import type { ListedFile } from "@marin/zephyr";
import { z } from "zod";
import type { ModelLocation } from "./served-model.js";

const CLAIM_FILE = "scores.json";

const digest = z.string().describe("SHA-256, hexadecimal");

const claimSchema = z.strictObject({
  formatVersion: z.literal(1).describe("version of this file's form"),
  checkpoint: digest.describe("SHA-256 of the description of the checkpoint, which holds those of its files"),
  tokenizer: digest.describe("SHA-256 of the tokenizer's file"),
  files: z.array(z.strictObject({ name: z.string().describe("path within the dataset"), sha256: digest })).describe("the dataset's files, in the order of the files of scores"),
});

/**
 * Says in a directory of scores what they are scores of, so that no later call adds others to them.
 *
 * @throws MarinError MARIN_SCORES_OTHER when the directory holds scores of another model, tokenizer or dataset
 */
export async function claimOutput(output: string, location: ModelLocation, files: readonly ListedFile[]): Promise<void> {
  const { checkpoint } = await modelOfCheckpoint(location.checkpoint);
  const claim: z.output<typeof claimSchema> = {
    formatVersion: 1,
    checkpoint: await sha256File(join(checkpoint, "metadata.json")),
    tokenizer: await sha256File(location.tokenizer),
    files: [],
  };
  for (const { name, path } of files) claim.files.push({ name, sha256: await sha256File(path) });
  const path = join(output, CLAIM_FILE);
  const found = await readJson(path, claimSchema).catch((error: unknown) => {
    if (isMarinError(error, "RIGGING_NOT_FOUND")) return undefined;
    throw error;
  });
  if (found === undefined) {
    await writeFileAtomic(path, `${JSON.stringify(claim, undefined, 2)}\n`);
    return;
  }
  const differing = (["checkpoint", "tokenizer", "files"] as const).filter((field) => canonicalJson(found[field]) !== canonicalJson(claim[field]));
  if (differing.length === 0) return;
  throw new MarinError("MARIN_SCORES_OTHER", `${output} holds scores of another ${differing.join(" and ")}: choose another directory, or delete it to score anew`, { data: { output, differing } });
}
