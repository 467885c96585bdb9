import { apiOf } from "../client/client.js";
import type { IrisApi } from "../client/iris-api.js";
import { forwardingApi } from "../client/lazy-api.js";
import { MarinError } from "../platform.js";
import type { IrisContext, TaskProgress } from "./context.js";
import type { EndpointHandle } from "./endpoints.js";
import type { TaskEvent } from "./task-service.js";

/** Passes on to a task what a worker it has started reports and asks. */
export interface Relay {
  readonly report: (events: readonly TaskEvent[]) => void;
  readonly api: IrisApi;
  /** Closes the endpoints that the worker has registered and left open. */
  close(): Promise<void>;
}

/**
 * Relays to a context.
 *
 * @param context - the task's that has started the worker
 * @param worker - names the worker in the log
 * @param onProgress - takes the worker's progress. Default: as the task's own
 */
export function relayTo(context: IrisContext, worker: string, onProgress = (progress: TaskProgress): void => context.progress(progress)): Relay {
  const endpoints = new Map<string, EndpointHandle>();
  let last = 0;
  return {
    report: (events) => {
      for (const event of events) {
        if (event.type === "log") context.log[event.level](event.message, { worker, ...event.fields });
        else if (event.type === "metrics") context.metrics.report(event.values, event.step);
        else onProgress(plainProgress(event.progress));
      }
    },
    api: {
      // Asked for only when it is used: a local context makes its client then.
      ...forwardingApi(() => apiOf(context.client)),
      register: async ({ name, address, metadata }) => {
        const handle = await context.registry.register(name, address, metadata);
        last += 1;
        endpoints.set(String(last), handle);
        return { endpoint: String(last) };
      },
      renew: async ({ endpoint }) => {
        if (endpoints.has(endpoint)) return null;
        throw new MarinError("IRIS_BAD_ENDPOINT", `There is no endpoint ${endpoint} of this worker any more: register it again.`, { data: { endpoint } });
      },
      unregister: async ({ endpoint }) => {
        await endpoints.get(endpoint)?.close();
        endpoints.delete(endpoint);
        return null;
      },
      resolve: async ({ name }) => ({ address: (await context.registry.resolve(name)) ?? null }),
    },
    close: async () => {
      for (const handle of endpoints.values()) await handle.close();
      endpoints.clear();
    },
  };
}

/** The progress without the fields that are absent. */
export function plainProgress({ done, total, unit, detail }: Extract<TaskEvent, { readonly type: "progress" }>["progress"]): TaskProgress {
  return { done, unit, ...(total === undefined ? {} : { total }), ...(detail === undefined ? {} : { detail }) };
}
