import type { Connection } from "@marin/ducky";
import { serveIrisApi } from "../client/iris-service.js";
import type { Relay } from "./relay.js";
import { taskService } from "./task-service.js";

/**
 * Answers what a worker that a task has started reports and asks.
 *
 * @param connection - to the worker
 * @param relay - to the task's context
 */
export function serveRelay(connection: Connection, relay: Relay): void {
  connection.serve(taskService, {
    report: ({ events }) => {
      relay.report(events);
      return null;
    },
  });
  serveIrisApi(connection, relay.api);
}
