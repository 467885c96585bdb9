import type { HttpBindings } from "@hono/node-server";
import { type AuthChain, type Principal, authRequest, redactor, scopeCovers, toPlain } from "@marin/rigging";
import { type Context, Hono } from "hono";
import type { IrisApi, JobFilter, LogRequest } from "../client/iris-api.js";
import { isFinal } from "../jobs/job-status.js";
import { type Logger, MarinError, isMarinError } from "../platform.js";
import { failureToWire } from "../runtime/failure.js";
import { accessOf, scopedApi } from "./access.js";
import { bugReport } from "./bug-report.js";
import { addBundleRoutes, type BundleRoutes } from "./bundle-routes.js";
import { errorResponse } from "./http-error.js";
import { collectLines, linesResponse } from "./log-lines.js";
import { errorPage, jobPage, type Markup, overviewPage, stylesheet } from "./pages.js";
import type { Queries } from "./query.js";
import { cancelBody, jobQuery, listQuery, logQuery, parseRequest, readJson, queryBody } from "./requests.js";
import { Slots } from "./slots.js";
import { irisVersion } from "./version.js";

/** What the application answers with. */
export interface AppOptions extends BundleRoutes {
  /** The controller as this caller sees it. */
  readonly api: (principal: Principal) => IrisApi;
  readonly auth: AuthChain;
  /** The controller's database. Undefined: there is none. */
  readonly queries?: Queries | undefined;
  /** The page for Prometheus. */
  readonly metrics: (api: IrisApi) => Promise<string>;
  readonly log: Logger;
}

interface AppEnv {
  Bindings: HttpBindings;
  Variables: { principal: Principal | undefined };
}

/** Lines of a log that a page shows unless it is asked for others. */
const defaultTail = 200;

/** The HTTP interface of a controller, without a server. */
export function createApp(options: AppOptions): Hono<AppEnv> {
  const { auth, queries, metrics, log } = options;
  const followers = new Slots(200, "followed logs");
  const app = new Hono<AppEnv>();
  const apiOf = (c: Context<AppEnv>): IrisApi => {
    const principal = c.get("principal");
    if (principal === undefined) throw new MarinError("RIGGING_UNAUTHENTICATED", "Not let in.", { data: { status: 401 } });
    return scopedApi(options.api(principal), principal);
  };
  const may = (c: Context<AppEnv>, scope: string): boolean => scopeCovers(c.get("principal")?.scopes ?? [], scope);
  const json = (c: Context<AppEnv>, value: unknown): Response => c.json(toPlain(value, redactor) as never);
  const show = async (c: Context<AppEnv>, markup: Markup): Promise<Response> => c.html(await markup);

  app.onError((error, c) => {
    const response = errorResponse(error, log);
    if (c.req.path !== "/" && c.req.path !== "/job") return response;
    const title = isMarinError(error) ? error.code : "IRIS_SERVER_FAILED";
    return c.html(errorPage(title, isMarinError(error) && response.status !== 500 ? error.message : "The server failed on this request; its log says why."), response.status as 400, Object.fromEntries(response.headers.entries()));
  });
  app.notFound((c) => errorResponse(new MarinError("IRIS_NOT_FOUND", `There is nothing at ${c.req.method} ${c.req.path.slice(0, 200)}.`), log));

  app.use(async (c, next) => {
    const { method, path } = c.req;
    // What a page of another site makes a browser send counts as carrying no credential.
    c.set("principal", await auth.authorize(authRequest(c.env.incoming), accessOf(method, path)));
    if (method === "POST" && !/^application\/json\s*(?:;|$)/i.test(c.req.header("Content-Type") ?? "")) {
      throw new MarinError("IRIS_BAD_REQUEST", "A request's body is JSON: send Content-Type: application/json.", { data: { status: 415 } });
    }
    await next();
    c.header("X-Content-Type-Options", "nosniff");
    c.header("Referrer-Policy", "no-referrer");
    c.header("Cache-Control", "no-store");
    c.header("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
  });

  app.get("/health", (c) => c.json({ status: "ok", version: irisVersion }));
  app.get("/style.css", (c) => c.body(stylesheet, 200, { "Content-Type": "text/css; charset=utf-8" }));
  app.get("/", async (c) => {
    const filter = parseRequest(listQuery, c.req.query());
    const api = apiOf(c);
    const cluster = may(c, "cluster:read");
    const [jobs, workers, users] = await Promise.all([api.list(jobFilter(filter)), cluster ? api.workers({}) : undefined, cluster ? api.users({}) : undefined]);
    return show(c, overviewPage({ jobs, workers, users, filter }));
  });
  app.get("/job", async (c) => {
    const { job, tail = defaultTail, ...filter } = parseRequest(logQuery.omit({ follow: true, from: true }), c.req.query());
    const api = apiOf(c);
    const status = await api.status({ job });
    const lines = await collectLines(api, { job: status.uid ?? job, tail: Math.min(tail, 10_000), ...logFilter(filter) }, filter.contains, c.req.raw.signal);
    const children = await api.list({ prefix: `${status.id}/`, limit: 200 });
    return show(c, jobPage({ status, children, lines, filter: { tail, ...filter }, ended: isFinal(status.state) }));
  });

  app.get("/api/jobs", async (c) => json(c, await apiOf(c).list(jobFilter(parseRequest(listQuery, c.req.query())))));
  app.get("/api/job", async (c) => json(c, await apiOf(c).status(parseRequest(jobQuery, c.req.query()))));
  app.get("/api/describe", async (c) => json(c, await apiOf(c).describe(parseRequest(jobQuery, c.req.query()))));
  app.get("/api/bug-report", async (c) => json(c, await bugReport(apiOf(c), parseRequest(jobQuery, c.req.query()).job, new Date(), { signal: c.req.raw.signal })));
  app.get("/api/logs", async (c) => {
    const { job, tail, from, follow = false, contains, ...filter } = parseRequest(logQuery, c.req.query());
    const api = apiOf(c);
    await api.status({ job });
    const request: LogRequest = { job, follow, ...(tail === undefined ? {} : { tail }), ...(from === undefined ? {} : { from }), ...logFilter(filter) };
    return linesResponse(api, request, { contains, release: follow ? followers.take() : undefined, signal: c.req.raw.signal, log });
  });
  app.post("/api/cancel", async (c) => {
    const { job, reason } = parseRequest(cancelBody, await readJson(c.req.raw));
    await apiOf(c).cancel({ job, reason: failureToWire(new MarinError("IRIS_CANCELLED", reason ?? `The job was cancelled by ${c.get("principal")?.name ?? "somebody"}.`)) });
    return c.json({ cancelled: job });
  });
  app.get("/api/workers", async (c) => json(c, await apiOf(c).workers({})));
  app.get("/api/users", async (c) => json(c, await apiOf(c).users({})));
  app.post("/api/query", async (c) => {
    const { sql, maxRows } = parseRequest(queryBody, await readJson(c.req.raw));
    if (queries === undefined) throw new MarinError("IRIS_BAD_QUERY", "This controller keeps no database.");
    return json(c, await queries.run(sql, { maxRows, signal: c.req.raw.signal }));
  });
  app.get("/metrics", async (c) => c.body(await metrics(apiOf(c)), 200, { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" }));
  addBundleRoutes(app, options);
  return app;
}

function jobFilter({ user, state, prefix, limit }: { readonly user?: string | undefined; readonly state?: JobFilter["states"]; readonly prefix?: string | undefined; readonly limit?: number | undefined }): JobFilter {
  return { ...(user === undefined ? {} : { user }), ...(state === undefined ? {} : { states: state }), ...(prefix === undefined ? {} : { prefix }), ...(limit === undefined ? {} : { limit }) };
}

function logFilter({ level, task }: { readonly level?: LogRequest["minLevel"]; readonly task?: number | undefined }): Pick<LogRequest, "minLevel" | "taskIndex"> {
  return { ...(level === undefined ? {} : { minLevel: level }), ...(task === undefined ? {} : { taskIndex: task }) };
}
