import { accompanyWorkers } from "@marin/fray";
import type { IrisContext } from "./context.js";
import { relayTo } from "./relay.js";
import { serveRelay } from "./serve-relay.js";
import { type TaskIdentity, identityVariable } from "./task-identity.js";

/**
 * Lets fray workers that are started inside a task have that task's context, and report through it.
 *
 * @param contextNow - the context where a worker is started
 */
export function accompanyWithContext(contextNow: () => IrisContext | undefined): void {
  accompanyWorkers("iris", ({ name, env }) => {
    // Iris itself starts it, and gives it a context.
    if (identityVariable in env) return undefined;
    const context = contextNow();
    if (context === undefined) return undefined;
    const { jobId, attempt, taskIndex, numTasks, resources, ports } = context;
    const identity: TaskIdentity = { jobId, attempt, taskIndex, numTasks, resources, ports };
    return {
      env: { [identityVariable]: JSON.stringify(identity) },
      attach: ({ connection, exited }) => {
        const relay = relayTo(context, name);
        serveRelay(connection, relay);
        void exited.then(() => relay.close());
      },
    };
  });
}
