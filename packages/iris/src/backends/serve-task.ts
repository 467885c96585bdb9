import type { Connection } from "@marin/ducky";
import { type SubmitJob, serveJobs } from "../client/jobs-service.js";
import type { EndpointHandle, Registry } from "../runtime/endpoints.js";
import { type TaskEvent, endpointService, taskService } from "../runtime/task-service.js";

/** Who answers a task. */
interface TaskListener {
  readonly report: (events: readonly TaskEvent[]) => void;
  readonly registry: Registry;
  readonly submit: SubmitJob;
}

/**
 * Answers what the task at the other end of a connection reports and asks.
 *
 * @returns closes the endpoints that it has registered and left open
 */
export function serveTask(connection: Connection, { report, registry, submit }: TaskListener): () => Promise<void> {
  const endpoints = new Map<number, EndpointHandle>();
  let lastId = 0;
  connection.serve(taskService, {
    report: ({ events }) => {
      report(events);
      return null;
    },
  });
  connection.serve(endpointService, {
    register: async ({ name, address, metadata }) => {
      const handle = await registry.register(name, address, metadata);
      lastId += 1;
      endpoints.set(lastId, handle);
      return { id: lastId };
    },
    unregister: async ({ id }) => {
      await endpoints.get(id)?.close();
      endpoints.delete(id);
      return null;
    },
    resolve: async ({ name }) => ({ address: (await registry.resolve(name)) ?? null }),
  });
  serveJobs(connection, submit);
  return async () => {
    for (const handle of endpoints.values()) await handle.close();
    endpoints.clear();
  };
}
