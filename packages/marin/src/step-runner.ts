import { getIrisCtx, withLocalContext } from "@marin/iris";
import { createLogger } from "@marin/rigging";

import type { ExperimentEvent } from "./events.js";
import { produceStep, type StepWork } from "./produce-step.js";
import type { StepProgress, StepResources } from "./step.js";
import { contextExtensions } from "./wire.js";

/** What the runner of a step tells the run. */
export interface StepListener {
  readonly signal: AbortSignal;
  /** The step's work begins. */
  readonly started: () => void;
  readonly progress: (progress: StepProgress) => void;
  readonly emit: (event: ExperimentEvent) => void;
}

/** Where steps run. */
export interface StepRunner {
  /** Name of the cluster; null for this process. */
  readonly cluster: string | null;
  /** Steps that it runs at the same time at most, when nothing else is asked; what they occupy may allow fewer. */
  readonly defaultConcurrency: number;
  /** Processors that a step occupies here. */
  cpusOf(resources: StepResources): number;
  /** Runs a step to its end: its artifact is in the store afterwards. Rejects with what the step throws. */
  run(work: StepWork, listener: StepListener): Promise<void>;
  /** Ends everything that still runs. */
  close(): Promise<void>;
}

/** Runs steps in this process, one at a time unless told otherwise. */
export function inlineRunner(): StepRunner {
  return {
    cluster: null,
    defaultConcurrency: 1,
    cpusOf: ({ cpu = 1 }) => (cpu === "all" ? 1 : cpu),
    async run(work, listener) {
      const { name } = work.planned;
      const log = (message: string): void => {
        listener.emit({ event: "message", step: name, message });
      };
      const metrics = (values: Readonly<Record<string, number>>): void => {
        listener.emit({ event: "metrics", step: name, metrics: values });
      };
      const { signal, progress } = listener;
      const context = {
        jobId: `${getIrisCtx()?.jobId ?? "local"}/${name}`,
        signal,
        extensions: contextExtensions({ taskIndex: 0, numTasks: 1 }),
        log: createLogger({ write: (line) => { log(line.trimEnd()); } }),
        onMetrics: metrics,
        onProgress: progress,
      };
      listener.started();
      await withLocalContext(context, () => produceStep(work, { signal, progress, metrics, log }));
    },
    close: () => Promise.resolve(),
  };
}
