import { sourceOf } from "../client/job.js";
import type { SubmitJob } from "../client/jobs-service.js";
import type { IrisContext, TaskProgress } from "./context.js";
import type { Registry } from "./endpoints.js";
import type { TaskEvent } from "./task-service.js";

/** Passes on to a task what a worker it has started reports and asks. */
export interface Relay {
  readonly report: (events: readonly TaskEvent[]) => void;
  readonly registry: Registry;
  readonly submit: SubmitJob;
}

/**
 * Relays to a context.
 *
 * @param context - the task's that has started the worker
 * @param worker - names the worker in the log
 * @param onProgress - takes the worker's progress. Default: as the task's own
 */
export function relayTo(context: IrisContext, worker: string, onProgress = (progress: TaskProgress): void => context.progress(progress)): Relay {
  return {
    registry: context.registry,
    submit: async (spec) => sourceOf(await context.client.submit(spec)),
    report: (events) => {
      for (const event of events) {
        if (event.type === "log") context.log[event.level](event.message, { worker, ...event.fields });
        else if (event.type === "metrics") context.metrics.report(event.values, event.step);
        else onProgress(plainProgress(event.progress));
      }
    },
  };
}

/** The progress without the fields that are absent. */
export function plainProgress({ done, total, unit, detail }: Extract<TaskEvent, { readonly type: "progress" }>["progress"]): TaskProgress {
  return { done, unit, ...(total === undefined ? {} : { total }), ...(detail === undefined ? {} : { detail }) };
}
