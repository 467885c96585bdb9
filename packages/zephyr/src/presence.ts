import { type EndpointHandle, irisCtx } from "@marin/iris";

/** Endpoints of this worker, by the run that it works for. */
const endpoints = new Map<string, Promise<EndpointHandle>>();

/**
 * Registers this worker as `zephyr/<name>/<run>/<worker>`, once for each run; taken back when the worker's context ends.
 *
 * @param run - names the execution among all
 * @param name - names the work
 */
export async function registerWorker(run: string, name: string): Promise<void> {
  let endpoint = endpoints.get(run);
  if (endpoint === undefined) {
    const context = irisCtx();
    const { registry, taskIndex, numTasks, jobId } = context;
    endpoint = registry.register(`zephyr/${name}/${run.slice(0, 8)}/${String(taskIndex)}`, `pid:${String(process.pid)}`, { jobId, numTasks: String(numTasks) });
    endpoints.set(run, endpoint);
    context.onExit(async () => {
      const registered = endpoints.get(run);
      endpoints.delete(run);
      await (await registered)?.close();
    });
  }
  await endpoint;
}
