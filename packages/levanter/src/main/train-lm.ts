import { entry, getIrisCtx, irisCtx, MarinError, withLocalContext, type Entry, type IrisContext } from "@marin/iris";
import { z } from "zod";
import { TokenStore } from "../data/token-store.js";
import { joinDistributed } from "../distributed.js";
import { parseConfig } from "../parse-config.js";
import { trainingConfigSchema, type TrainerConfigInput } from "../trainer-config.js";
import { Trainer, type TrainResult } from "../trainer.js";

const runFields = z.object({
  model: trainingConfigSchema.shape.model.unwrap().describe("the model: a shape by name, or its fields"),
  dataset: z.string().min(1).describe("directory of the token store to train on"),
  validation: z.string().min(1).optional().describe("directory of the token store to validate on, at the trainer's cadence and at the end. Default: no validation"),
  directory: z.string().min(1).describe("directory of this run alone: checkpoints and metrics; a run found there goes on"),
});

/** What {@link trainLm} trains: the trainer's options, and which model on which tokens, kept where. Plain JSON, so that it can travel to a worker. */
export type TrainLmConfig = TrainerConfigInput & z.input<typeof runFields>;

/**
 * Trains a language model from a configuration alone. Runs as a task of the iris context it is called in, or as one on this machine: the worker joins
 * through the context ({@link joinDistributed}), steps are reported to it, and its signal stops the run after the current step, with a checkpoint.
 *
 * @throws MarinError LEVANTER_CONFIG naming each field that is missing, unknown or out of range; LEVANTER_DISTRIBUTED in a job of several tasks; what
 * `joinDistributed`, `Trainer.train` and `TokenStore.open` throw
 */
export async function trainLm(config: TrainLmConfig): Promise<TrainResult> {
  const { validation, directory } = parseConfig("the training's configuration", runFields, config);
  const { validation: _validation, directory: _directory, ...trainerConfig } = config;
  const { config: checked } = new Trainer(trainerConfig);
  const train = async (): Promise<TrainResult> => {
    requireOneTask(irisCtx());
    const worker = await joinDistributed({ engine: checked.engine, device: checked.device, precision: checked.precision, threads: checked.threads });
    try {
      const trainer = new Trainer(trainerConfig, { engine: worker.engine });
      return await trainer.train({ directory, validation: validation === undefined ? undefined : await TokenStore.open(validation) });
    } finally {
      await worker.leave();
    }
  };
  return getIrisCtx() === undefined ? withLocalContext({}, train) : train();
}

/** {@link trainLm} as a job's entry: `client.submit({ name: "train", entry: trainLmEntry, args: [config] })`. */
export const trainLmEntry: Entry<[config: TrainLmConfig], TrainResult> = entry<typeof trainLm>(import.meta.url, "trainLm");

function requireOneTask({ jobId, numTasks }: IrisContext): void {
  if (numTasks === 1) return;
  throw new MarinError("LEVANTER_DISTRIBUTED", `the job ${jobId} has ${String(numTasks)} tasks; one model trains in one task only: submit the job with replicas: 1`, { data: { jobId, numTasks } });
}
