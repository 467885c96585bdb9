import { availableParallelism } from "node:os";

import { loadParameters, selectEngine, type Engine, type EngineBuffer, type LanguageModel, type TrainerConfig } from "@marin/levanter";

import type { StepResources } from "../step.js";

/** What computes: the part of every model step's configuration, as in the trainer's options. */
export type ComputeConfig = Pick<TrainerConfig, "engine" | "device" | "precision" | "threads">;

/** What a model step occupies: a processor for each of its threads, at most all. */
export function computeResources({ threads }: ComputeConfig): StepResources {
  return { cpu: threads === 0 || threads >= availableParallelism() ? "all" : threads };
}

/** Lines about the choice of an engine that this process has said: several steps of a run make the same choice. */
const said = new Set<string>();

/** Passes each line on the first time it is given. */
export function sayOnce(log: (message: string) => void, lines: Set<string> = said): (line: string) => void {
  return (line) => {
    if (lines.has(line)) return;
    lines.add(line);
    log(line);
  };
}

/** Starts the engine, has `use` work with it, and releases it. Why a faster engine was passed over is logged once in a process. */
export async function withEngine<T>({ engine: name, device, precision, threads: count }: ComputeConfig, log: (message: string) => void, use: (engine: Engine) => Promise<T>): Promise<T> {
  const started = await selectEngine({ engine: name, device, precision, threads: count === 0 ? undefined : count, onNotice: sayOnce(log) });
  try {
    return await use(started);
  } finally {
    await started.dispose();
  }
}

/** A trained model as an engine runs it. */
export interface LoadedModel {
  readonly engine: Engine;
  readonly model: LanguageModel;
  /** The parameters on the engine, by name. */
  readonly parameters: Readonly<Record<string, EngineBuffer>>;
}

/** Starts the engine, loads a checkpoint's parameters onto it, has `use` work with them, and releases both. */
export async function withLoadedModel<T>(
  config: ComputeConfig, log: (message: string) => void, { model, checkpoint }: { readonly model: LanguageModel; readonly checkpoint: string }, use: (loaded: LoadedModel) => Promise<T>,
): Promise<T> {
  return withEngine(config, log, async (engine) => {
    const parameters = await loadParameters(engine, model, checkpoint);
    try {
      return await use({ engine, model, parameters: parameters.buffers });
    } finally {
      parameters.release();
    }
  });
}
