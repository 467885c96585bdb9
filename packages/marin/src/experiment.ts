import { resolve } from "node:path";

import { entry, type JobSpec, type Submittable } from "@marin/iris";
import { buildModel, Trainer, type Gpt2Config, type TrainerConfig, type TrainerConfigInput } from "@marin/levanter";
import { MarinError, ownIdentity } from "@marin/rigging";

import type { trainExperiment } from "./steps/train-experiment.js";

/** What a {@link Config} is made of: levanter's trainer options, with the model and the dataset named. */
export type ConfigInput = TrainerConfigInput & Required<Pick<TrainerConfigInput, "model" | "dataset">>;

/** The fields of a {@link Config}: those given, and the others' defaults. */
type ConfigFields = Readonly<TrainerConfig & { model: NonNullable<TrainerConfig["model"]>; dataset: string }>;

/** A class whose objects have the fields that the constructor of {@link Config} assigns. */
const Fields = Object as unknown as new () => ConfigFields;

/**
 * What to train, by what, on what: `new Config({ model: "gpt2-small", optimizer: "adamw", dataset: "./my-texts", batchSize: 128 })`. Levanter's
 * `Trainer` takes it as its configuration. `model` is a shape by name or its fields; `dataset` is a folder of texts, as a path or a file: URL; every other field
 * is an option of the trainer and has its default.
 */
export class Config extends Fields {
  /**
   * @throws MarinError `LEVANTER_CONFIG` naming each field that is unknown or out of range; `MARIN_CONFIG` when model or dataset is missing
   */
  constructor(fields: ConfigInput) {
    super();
    const { config } = new Trainer(fields);
    for (const field of ["model", "dataset"] as const) {
      if (config[field] === undefined) throw missing("MARIN_CONFIG", "a configuration", field);
    }
    Object.assign(this, { optimizer: "adamw", ...config });
  }
}

/** What an {@link Experiment} is made of. */
export interface ExperimentFields {
  /** Lower-case words joined by hyphens or underscores; the job's name. */
  readonly name: string;
  /** Made from a {@link Config}. Its configuration travels to the worker; hooks and an engine of its own stay behind. */
  readonly trainer: Trainer;
  /** Directory of the store that keeps the artifacts, relative to the working directory. Default ".marin". */
  readonly prefix?: string;
  /** Entries of the vocabulary that is learned from the dataset. Default: the model's where it names one, else a size that suits the model. */
  readonly vocabSize?: number;
}

/** Vocabularies for models by name; small models would spend most of their parameters on a large one. */
const defaultVocabularies: Readonly<Record<string, number>> = { "gpt2-nano": 512, "gpt2-micro": 2048 };
const DEFAULT_VOCABULARY = 4096;

/** A training of a language model from raw text, as a job: documents, tokenizer, tokens, model, each kept as an artifact and not made twice. */
export class Experiment implements Submittable {
  readonly name: string;
  /** The validated configuration. */
  readonly config: ConfigFields;
  /** Absolute path of the store. */
  readonly prefix: string;
  /** Entries of the vocabulary. */
  readonly vocabSize: number;

  /**
   * @throws MarinError `MARIN_EXPERIMENT_DEFINITION` when the name cannot serve, or the trainer's configuration names no model or no dataset
   */
  constructor({ name, trainer, prefix = ".marin", vocabSize }: ExperimentFields) {
    if (!/^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/.test(name)) {
      throw new MarinError("MARIN_EXPERIMENT_DEFINITION", `experiment name ${JSON.stringify(name)} must be lower-case words joined by hyphens or underscores`);
    }
    const { model, dataset } = trainer.config;
    if (model === undefined) throw missing("MARIN_EXPERIMENT_DEFINITION", "the trainer's configuration", "model");
    if (dataset === undefined) throw missing("MARIN_EXPERIMENT_DEFINITION", "the trainer's configuration", "dataset");
    this.name = name;
    this.config = { ...trainer.config, model, dataset };
    this.prefix = resolve(prefix);
    this.vocabSize = vocabSize ?? (typeof model === "string" ? defaultVocabularies[model] : model.vocabSize) ?? DEFAULT_VOCABULARY;
  }

  /** The job that trains: what iris's `JobScheduler` submits. Its value is what `trainExperiment` returns: steps, loss, checkpoint. */
  toJob(): JobSpec {
    const { name, config, prefix, vocabSize } = this;
    const { model: _model, dataset, optimizer: _optimizer, ...trainer } = config;
    const { layers, hiddenSize, heads } = buildModel(config.model, vocabSize).config as Required<Gpt2Config>;
    const request = { name, dataset, trainer, model: { layers, hiddenSize, heads, sequenceLength: config.sequenceLength }, vocabSize, prefix, workingDirectory: process.cwd(), onBehalfOf: ownIdentity() };
    return {
      name,
      entry: entry<typeof trainExperiment>(new URL("./steps/train-experiment.js", import.meta.url), "trainExperiment"),
      args: [request],
      resources: { cpu: config.threads === 0 ? 1 : config.threads },
    };
  }
}

function missing(code: string, where: string, field: "model" | "dataset"): MarinError {
  const example = field === "model" ? 'model: "gpt2-nano"' : 'dataset: "./my-texts"';
  return new MarinError(code, `${where} needs a ${field}, for example ${example}`, { data: { field } });
}
