import { irisCtx } from "@marin/iris";
import { SERVED_UNIT, type ServeRequest, type ServeSummary } from "./serve-request.js";
import { startServer } from "./server.js";
import { withServedModel } from "./served-model.js";
import { readToken } from "./token.js";

/** Serves a model as the task of an iris job until the task is told to stop: loads it once, listens, and offers its address as an endpoint. The job's entry. */
export async function serve(request: ServeRequest): Promise<ServeSummary> {
  const { location, name, graceMs } = request;
  const context = irisCtx();
  const { log, signal } = context;
  const token = request.tokenFile === undefined ? undefined : await readToken(request.tokenFile);
  return withServedModel(location, request, (line) => { log.info(line); }, async (served) => {
    let requests = 0;
    const onServed = (): void => {
      context.progress({ done: ++requests, unit: SERVED_UNIT });
    };
    const server = await startServer({ ...request, served, port: request.port ?? context.port("http"), token, log, onServed });
    try {
      const endpoint = await context.registry.register(name, server.url, { model: name });
      log.info("serving", { url: server.url, model: name, engine: served.engine.description });
      context.progress({ done: 0, unit: SERVED_UNIT });
      await aborted(signal);
      await endpoint.close();
    } finally {
      await server.stop(graceMs);
    }
    return { requests };
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => { resolve(); }, { once: true });
  });
}
