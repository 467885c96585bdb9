import type { BufferGroup, Engine } from "../engine/types.js";
import type { LanguageModel } from "../models/language-model.js";
import { modelIdentity, readCheckpointMetadata, requireCheckpoint, requireSameRun } from "./metadata.js";
import { readCheckpoint } from "./read-checkpoint.js";

/**
 * Loads a model's parameters from the checkpoint in `directory` (`TrainResult.checkpoint`) onto an engine. The caller releases the group.
 *
 * @throws MarinError LEVANTER_CHECKPOINT_MISSING when there is none; LEVANTER_CHECKPOINT_MISMATCH when the checkpoint is of another model; LEVANTER_CHECKPOINT_CORRUPT, LEVANTER_CHECKPOINT_VERSION
 */
export async function loadParameters(engine: Engine, model: LanguageModel, directory: string): Promise<BufferGroup> {
  await requireCheckpoint(directory);
  const metadata = await readCheckpointMetadata(directory);
  const found = Object.fromEntries(Object.entries(metadata.run).filter(([field]) => field.startsWith("model.")));
  requireSameRun(directory, found, modelIdentity(model));
  const group = engine.allocate(model.parameters);
  try {
    await readCheckpoint(directory, metadata, { parameters: { specs: model.parameters, buffers: group.buffers } });
    return group;
  } catch (error) {
    group.release();
    throw error;
  }
}
