import { join } from "node:path";

import { irisCtx } from "@marin/iris";
import type { ProcessIdentity } from "@marin/rigging";
import { z } from "zod";

import { datasetFolder } from "../datasets.js";
import type { ExperimentEvent } from "../events.js";
import { defineExperiment, type ExperimentDefinition } from "../experiment-definition.js";
import { runExperiment } from "../run-experiment.js";
import { dedupOptions, dedupStep } from "./dedup.js";
import { documentsOptions, documentsStep } from "./documents.js";
import { tokenizerOptions, tokenizerStep } from "./tokenizer.js";
import { tokensStep } from "./tokens.js";
import { trainOptions, trainStep, type TrainConfig, type TrainedModel } from "./train.js";

/** A training from raw text, as its job is asked for it: plain data. */
export interface TrainExperimentRequest {
  readonly name: string;
  /** A folder of texts, as a path or a file: URL. */
  readonly dataset: string;
  /** Options of the trainer. */
  readonly trainer: Partial<TrainConfig>;
  readonly model: TrainConfig["model"];
  readonly vocabSize: number;
  /** Absolute path of the store. */
  readonly prefix: string;
  /** Directory that a relative dataset starts from. */
  readonly workingDirectory: string;
  /** The process that has submitted the job. */
  readonly onBehalfOf: ProcessIdentity;
}

/** What a training from raw text came to. */
export interface TrainedExperiment {
  /** Updates made. */
  readonly steps: number;
  /** Mean loss of the last batch, in nats per token. */
  readonly loss: number;
  readonly parameters: number;
  /** Absolute path of the model's checkpoint. */
  readonly checkpoint: string;
}

/**
 * Trains a model from a folder of texts, as the task of an iris job: documents without duplicates, tokenizer, tokens and model, in this one process. What is in the
 * store is used. Reports to the task's context and stops on its signal.
 *
 * @throws MarinError `MARIN_DATASET_UNAVAILABLE`, `MARIN_DATASET_NOT_FOUND`; what the steps throw
 */
export async function trainExperiment(request: TrainExperimentRequest): Promise<TrainedExperiment> {
  const { prefix, workingDirectory, onBehalfOf } = request;
  const source = await datasetFolder(request.dataset, workingDirectory);
  const context = irisCtx();
  const { signal, log, metrics } = context;
  const onEvent = (event: ExperimentEvent): void => {
    if (event.event === "message") log.info(`${event.step}: ${event.message}`);
    else if (event.event === "step-finished") log.info(`${event.step}: ${event.cached ? "cached" : `done in ${event.seconds} s`}`);
    else if (event.event === "metrics") metrics.report(event.metrics);
    else if (event.event === "progress") {
      const { done, total, unit, detail = "" } = event;
      context.progress({ done, ...(total === undefined ? {} : { total }), unit, detail: `${event.step} ${detail}`.trimEnd() });
    }
  };
  const { train } = await runExperiment(trainingFrom(source, request), {}, { prefix, workingDirectory, onBehalfOf, signal, onEvent });
  const { directory, result } = train as { readonly directory: string; readonly result: TrainedModel };
  const { steps, loss, parameters, checkpoint } = result;
  return { steps, loss, parameters, checkpoint: join(directory, checkpoint) };
}

function trainingFrom(source: string, { name, trainer, model, vocabSize }: TrainExperimentRequest): ExperimentDefinition {
  return defineExperiment({
    name,
    summary: "Trains a language model from a folder of texts.",
    options: z.strictObject({}),
    steps() {
      const documents = documentsStep({}, { ...documentsOptions.parse({ source, maxDocumentBytes: 2048 }), resolveFrom: import.meta.url });
      const dedup = dedupStep({ documents }, dedupOptions.parse({ validationFraction: 0.1 }));
      const tokenizer = tokenizerStep({ dedup }, tokenizerOptions.parse({ vocabSize }));
      const tokens = tokensStep({ dedup, tokenizer }, {});
      return { documents, dedup, tokenizer, tokens, train: trainStep({ tokens }, { ...trainOptions.parse(withoutSequenceLength(trainer)), model }) };
    },
  });
}

/** The length of a sequence is the model's. */
function withoutSequenceLength(trainer: object): object {
  const { sequenceLength: _ofModel, ...options } = trainer as { readonly sequenceLength?: number };
  return options;
}
