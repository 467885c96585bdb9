import { selectEngine, type Engine, type TrainerConfig } from "@marin/levanter";

/** What computes: the part of every model step's configuration, as in the trainer's options. */
export type ComputeConfig = Pick<TrainerConfig, "engine" | "threads">;

/** Starts the engine, has `use` work with it, and releases it. */
export async function withEngine<T>({ engine: name, threads: count }: ComputeConfig, log: (message: string) => void, use: (engine: Engine) => Promise<T>): Promise<T> {
  const started = await selectEngine({ engine: name, threads: count === 0 ? undefined : count, onNotice: log });
  try {
    return await use(started);
  } finally {
    await started.dispose();
  }
}
