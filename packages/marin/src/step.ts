import type { ArtifactRecord } from "@marin/finestore";
import { MarinError } from "@marin/rigging";

/** How far a step is. */
export interface StepProgress {
  /** Units done so far, earlier attempts included. */
  readonly done: number;
  /** Units in all, where known. */
  readonly total?: number;
  /** What is counted, in plural: "documents", "steps". */
  readonly unit: string;
  /** One short phrase for people: "loss 4.21, 9,300 tokens/s". */
  readonly detail?: string;
}

/** What a finished step left behind: its directory of files and the value its `run` returned. */
export interface Artifact<Result> {
  /** Name of the step within its experiment. */
  readonly step: string;
  /** SHA-256 (hex) of everything that decided the artifact: step, version, configuration, inputs. */
  readonly fingerprint: string;
  /** Absolute path of the artifact's files. Read-only. */
  readonly directory: string;
  /** What the store knows of it: content digest, inputs by digest, files, and who made it when. */
  readonly record: ArtifactRecord;
  /** What `run` returned, read back from JSON. */
  readonly result: Result;
}

/** What decides a step's identity besides its configuration is computed with this. */
export interface IdentityContext {
  /** Directory that relative paths of the user's options start from. */
  readonly workingDirectory: string;
  readonly signal: AbortSignal;
}

/** Everything that a step's `run` is given. */
export interface StepContext<Config, Inputs extends object = Record<never, never>> extends IdentityContext {
  readonly config: Config;
  /** The artifacts of the input steps, by the names given where the step was made. */
  readonly inputs: { readonly [K in keyof Inputs]: Artifact<Inputs[K]> };
  /**
   * Where the step writes its files, any name but `artifact.json` and `result.json`; they become visible to others when `run` returns. Empty, unless the step is resumable and an
   * earlier attempt was interrupted: then it holds what that attempt wrote.
   */
  readonly directory: string;
  /** Reports how far the step is; cheap to call often. */
  readonly progress: (progress: StepProgress) => void;
  /** Reports measured numbers, for machines: they appear as `metrics` events. */
  readonly metrics: (metrics: Readonly<Record<string, number>>) => void;
  /** Says something that people should read now. */
  readonly log: (message: string) => void;
}

/** What a step occupies of its machine while it runs. */
export interface StepResources {
  /** Processors: a number, fractions count; "all": every one of the machine. Default 1. */
  readonly cpu?: number | "all";
  /** Memory in bytes: accounted, not enforced. Default 0. */
  readonly memoryBytes?: number;
}

/** One kind of step. */
export interface StepDefinition<Config, Inputs extends object, Result> {
  /** Name of the kind; part of the fingerprint, and the name under which the store keeps the artifact: lower-case words with hyphens. */
  readonly name: string;
  /** Raise it when the same configuration and inputs give other results than before: older artifacts are then no longer used. */
  readonly version: number;
  /**
   * Whether an interrupted attempt is continued in its directory. Default false: the next attempt starts with an empty one.
   */
  readonly resumable?: boolean;
  /** Fields of the configuration that leave the result the same (threads, how often to save, where a source lies): not part of the fingerprint. */
  readonly executionOnly?: readonly (keyof Config & string)[];
  /**
   * Fields that were added without raising the version, each with the value under which the step does what it did before: with that value a field is not part of the fingerprint, so that
   * older artifacts are still used.
   */
  readonly neutral?: Partial<Config>;
  /**
   * Files and directories that `run` writes about itself, not as its result: logs, throughput. They are kept beside the files, and left out
   * of the artifact's digest.
   */
  readonly runRecords?: readonly string[];
  /** What it occupies; steps run at the same time as far as the machine has room. Default: one processor. */
  resources?(config: Config): StepResources;
  /** What else decides the result, as JSON: the digest of files that the configuration names, for example. */
  identity?(config: Config, context: IdentityContext): Promise<unknown>;
  /** Does the work. What it returns is kept as JSON and given to later steps. Must be deterministic in its configuration, identity and inputs. */
  run(context: StepContext<Config, Inputs>): Promise<Result>;
  /** The lines that people should read when the experiment ends. `directory` holds the artifact's files. */
  lines?(result: Result, directory: string): readonly string[];
}

/** A step of an experiment: a kind of step with its configuration and input steps. */
export interface Step<Result = unknown> {
  readonly definition: ErasedStepDefinition;
  readonly config: unknown;
  readonly inputs: Readonly<Record<string, Step>>;
  /** Type of the result; never present at run time. */
  readonly resultType?: Result;
}

/** A step definition whose types are known only to itself; the executor hands back what the maker of the step put in. */
export type ErasedStepDefinition = StepDefinition<unknown, Record<string, unknown>, unknown>;

/** Makes steps of one kind: `trainTokenizer({ documents }, { vocabularySize: 4096 })`. */
export type StepMaker<Config, Inputs extends object, Result> = (
  inputs: { readonly [K in keyof Inputs]: Step<Inputs[K]> },
  config: Config,
) => Step<Result>;

/**
 * Defines a kind of step.
 *
 * @returns a function that makes steps of this kind from input steps and a configuration
 * @throws MarinError `MARIN_STEP_DEFINITION` when the name or version cannot serve
 */
export function defineStep<Config, Inputs extends object, Result>(
  definition: StepDefinition<Config, Inputs, Result>,
): StepMaker<Config, Inputs, Result> {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(definition.name)) {
    throw new MarinError("MARIN_STEP_DEFINITION", `step name ${JSON.stringify(definition.name)} must be lower-case words joined by hyphens, like "train-tokenizer"`);
  }
  if (!Number.isSafeInteger(definition.version) || definition.version < 1) {
    throw new MarinError("MARIN_STEP_DEFINITION", `step ${definition.name}: version must be an integer from 1, got ${String(definition.version)}`);
  }
  const erased = definition as unknown as ErasedStepDefinition;
  return (inputs, config) => ({ definition: erased, config, inputs: inputs });
}
