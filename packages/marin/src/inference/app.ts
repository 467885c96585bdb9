import type { Logger } from "@marin/rigging";
import { Hono, type Context, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { ApiError } from "./api-error.js";
import { guardRequests } from "./guard.js";
import { answerCompletion, streamCompletion } from "./answers.js";
import { prepareCompletion } from "./complete.js";
import { parseCompletionRequest, parseScoreRequest } from "./requests.js";
import { scoreTexts } from "./score-texts.js";
import type { ServedModel } from "./served-model.js";
import type { Slots } from "./slots.js";
import type { Work } from "./work.js";

/** What the application answers with. */
export interface AppOptions {
  readonly served: ServedModel;
  /** Name of the model, as clients see it. */
  readonly name: string;
  readonly slots: Slots;
  readonly work: Work;
  /** Clients must show it; undefined: no token is asked for, and only requests to this machine's own names are answered. */
  readonly token: string | undefined;
  readonly maxTokens: number;
  readonly maxBodyBytes: number;
  readonly log: Logger;
}

/** Methods by path. */
const ROUTES: Readonly<Record<string, string>> = { "/health": "GET", "/v1/models": "GET", "/v1/completions": "POST", "/v1/score": "POST" };

/** The HTTP interface of a served model, without a server. */
export function createApp(options: AppOptions): Hono {
  const { served, name, slots, work, token, maxTokens, maxBodyBytes, log } = options;
  const started = Math.floor(Date.now() / 1000);
  const app = new Hono();

  app.onError((error) => {
    if (error instanceof ApiError) return error.response();
    log.error("a request failed", { error: error.message, stack: error.stack });
    return new ApiError(500, "the server failed on this request; its log says why", { code: "internal_error" }).response();
  });
  app.notFound((c) => noSuchPath(c).response());

  app.use(guardRequests(token));
  // No model sees a prompt of a mebibyte; turning one into tokens would keep all others waiting.
  app.use("/v1/completions", limitBody(Math.min(maxBodyBytes, 1 << 20)));
  app.use("/v1/score", limitBody(maxBodyBytes));

  app.get("/health", (c) => c.json({ status: work.ending ? "stopping" : "ok", model: name, active: slots.active, waiting: slots.waiting }));
  app.get("/v1/models", (c) =>
    c.json({ object: "list", data: [{ id: name, object: "model", created: started, owned_by: "marin", context_length: served.model.maxSequenceLength, max_tokens: maxTokens }] }),
  );

  app.post("/v1/completions", async (c) => {
    const request = parseCompletionRequest(await c.req.text(), { maxTokens });
    requireModel(request.model, name);
    const completion = prepareCompletion(served, request);
    const job = await work.begin(c.req.raw.signal);
    return request.stream ? streamCompletion({ served, name, completion, job, log }) : answerCompletion({ served, name, completion, job });
  });

  app.post("/v1/score", async (c) => {
    const request = parseScoreRequest(await c.req.text());
    requireModel(request.model, name);
    const job = await work.begin(c.req.raw.signal);
    try {
      const data = await scoreTexts(served, request.texts, job.signal);
      return c.json({ object: "list", model: name, data: data.map((score, index) => ({ index, ...score })) });
    } catch (error) {
      throw job.reason(error);
    } finally {
      job.end();
    }
  });

  for (const [path, method] of Object.entries(ROUTES)) {
    app.all(path, (c) => {
      throw new ApiError(405, `${path} answers ${method}, not ${c.req.method}`, { code: "method_not_allowed", headers: { Allow: method } });
    });
  }
  return app;
}

function requireModel(asked: string | undefined, name: string): void {
  if (asked === undefined || asked === name) return;
  throw new ApiError(404, `there is no model ${JSON.stringify(asked)} here; this server has ${JSON.stringify(name)}`, { code: "model_not_found", param: "model" });
}

function noSuchPath(c: Context): ApiError {
  return new ApiError(404, `there is nothing at ${c.req.path}; there is ${Object.entries(ROUTES).map(([path, method]) => `${method} ${path}`).join(", ")}`, { code: "not_found" });
}

function limitBody(maxSize: number): MiddlewareHandler {
  const error = new ApiError(413, `the body has more than ${String(maxSize)} bytes`, { code: "request_too_large" });
  return bodyLimit({ maxSize, onError: () => error.response() });
}
