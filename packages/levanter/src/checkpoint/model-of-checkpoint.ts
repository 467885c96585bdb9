import { stat } from "node:fs/promises";
import { join } from "node:path";
import { MarinError } from "@marin/iris";
import type { LanguageModel } from "../models/language-model.js";
import { buildModel, modelConfigSchema } from "../models/model-config.js";
import { METADATA_FILE, readCheckpointMetadata } from "./metadata.js";
import { newestCheckpoint, type StoredCheckpoint } from "./stored-checkpoints.js";

/** A checkpoint and the model that it holds the parameters of. */
export interface CheckpointedModel {
  readonly model: LanguageModel;
  /** Directory of the checkpoint, for `loadParameters`. */
  readonly checkpoint: string;
  /** Updates made up to it. */
  readonly step: number;
}

/**
 * The model that a checkpoint describes.
 *
 * @param directory - a checkpoint, or a run (`directory` of `Trainer.train`), whose newest checkpoint is meant
 * @throws MarinError LEVANTER_CHECKPOINT_MISSING when there is neither; LEVANTER_CHECKPOINT_CORRUPT, LEVANTER_CHECKPOINT_VERSION;
 * LEVANTER_CHECKPOINT_MISMATCH for an architecture that this version doesn't know
 */
export async function modelOfCheckpoint(directory: string): Promise<CheckpointedModel> {
  const { directory: checkpoint, metadata } = await findCheckpoint(directory);
  const fields = Object.entries(metadata.run).flatMap(([field, value]) => (field.startsWith("model.") ? [[field.slice("model.".length), value] as const] : []));
  const { vocabSize, ...config } = Object.fromEntries(fields);
  const parsed = modelConfigSchema.safeParse(config);
  if (!parsed.success || typeof vocabSize !== "number") {
    throw new MarinError("LEVANTER_CHECKPOINT_MISMATCH", `${checkpoint} holds a model of type ${JSON.stringify(config["type"])}, which this version can't build from its description`, {
      data: { directory: checkpoint, config: metadata.run },
      cause: parsed.error,
    });
  }
  return { model: buildModel(parsed.data, vocabSize), checkpoint, step: metadata.step };
}

async function findCheckpoint(directory: string): Promise<StoredCheckpoint> {
  const isCheckpoint = await stat(join(directory, METADATA_FILE)).then(() => true, () => false);
  if (isCheckpoint) return { directory, metadata: await readCheckpointMetadata(directory) };
  const newest = await newestCheckpoint([join(directory, "checkpoints")]);
  if (newest !== undefined) return newest;
  throw new MarinError("LEVANTER_CHECKPOINT_MISSING", `${directory} is neither a checkpoint (there is no ${METADATA_FILE} in it) nor a run with one under checkpoints/`, { data: { directory } });
}
