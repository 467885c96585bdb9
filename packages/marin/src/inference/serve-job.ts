import { readFile } from "node:fs/promises";
import { entry, irisCtx, type Entry } from "@marin/iris";
import { fileError, MarinError } from "@marin/rigging";
import { startServer, type ServerLimits } from "./server.js";
import { withServedModel, type InferenceCompute, type ModelLocation } from "./served-model.js";

/** What a serving job does: plain data. */
export interface ServeRequest extends ServerLimits, InferenceCompute {
  readonly location: ModelLocation;
  /** Name of the model for clients, and of the endpoint in the registry. */
  readonly name: string;
  readonly host: string;
  /** Undefined: the one that iris gives the job under the name "http". */
  readonly port: number | undefined;
  /** File with the token that clients must show; undefined: none. */
  readonly tokenFile: string | undefined;
  /** Milliseconds that running requests have to end when the job is cancelled. */
  readonly graceMs: number;
}

/** What a serving job did. */
export interface ServeSummary {
  /** Completions and scores answered. */
  readonly requests: number;
}

/** Unit of the progress that a serving job reports; the first report says that it answers. */
export const SERVED_UNIT = "requests";

/** Serves a model as the task of an iris job until the task is told to stop: loads it once, listens, and offers its address as an endpoint. */
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

/** {@link serve} as a job's entry. */
export const serveEntry: Entry<[request: ServeRequest], ServeSummary> = entry<typeof serve>(import.meta.url, "serve");

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => { resolve(); }, { once: true });
  });
}

/**
 * The token in a file, without the white space around it.
 *
 * @throws MarinError MARIN_INFERENCE_BAD_TOKEN when it is shorter than 16 characters or has others than a header can hold; file errors
 */
export async function readToken(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw fileError(error, { action: "read the token in", path: file });
  });
  const token = text.trim();
  if (/^[\x21-\x7e]{16,}$/.test(token)) return token;
  throw new MarinError("MARIN_INFERENCE_BAD_TOKEN", `${file} must hold one token of at least 16 printable ASCII characters, for example what "openssl rand -hex 32" prints`, { data: { file } });
}
