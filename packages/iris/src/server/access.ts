import { type Access, type Principal, scopeCovers } from "@marin/rigging";
import type { IrisApi } from "../client/iris-api.js";
import { MarinError } from "../platform.js";

/** What a caller may do: read jobs, start and end them, see the cluster, change it, take part in it as a worker. */
export type IrisScope = "jobs:read" | "jobs:write" | "cluster:read" | "cluster:write" | "workers:join";

/** What each call of the API needs. Endpoints belong to running tasks, which do not come in by the server. */
const scopes: Readonly<Record<keyof IrisApi, IrisScope>> = {
  submit: "jobs:write",
  status: "jobs:read",
  list: "jobs:read",
  wait: "jobs:read",
  values: "jobs:read",
  cancel: "jobs:write",
  complete: "jobs:write",
  events: "jobs:read",
  logs: "jobs:read",
  workers: "cluster:read",
  users: "cluster:read",
  setBudget: "cluster:write",
  register: "jobs:write",
  renew: "jobs:write",
  unregister: "jobs:write",
  resolve: "jobs:read",
  describe: "jobs:read",
  exec: "jobs:write",
};

/**
 * The API as a caller may use it. A call without its scope is refused.
 *
 * @param api - the controller's, for this caller
 * @param principal - who calls
 */
export function scopedApi(api: IrisApi, principal: Principal): IrisApi {
  const calls = Object.entries(scopes).map(([name, scope]) => {
    const call = (...input: unknown[]): unknown => {
      if (scopeCovers(principal.scopes, scope)) return (api[name as keyof IrisApi] as (...input: unknown[]) => unknown).apply(api, input);
      throw new MarinError("RIGGING_FORBIDDEN", `${principal.name} may not call ${name}: it needs the scope ${scope}, and the credential has ${principal.scopes.join(", ") || "none"}.`, {
        data: { status: 403, scope, principal: principal.name },
      });
    };
    return [name, call];
  });
  return Object.fromEntries(calls) as unknown as IrisApi;
}

/** Paths that need something else than "jobs:read", by method and path; a path that ends in "/" stands for all below it. */
const routes: Readonly<Record<string, Access>> = {
  "GET /health": "public",
  "POST /api/cancel": { scope: "jobs:write" },
  "GET /api/workers": { scope: "cluster:read" },
  "GET /api/users": { scope: "cluster:read" },
  "POST /api/query": { scope: "cluster:read" },
  "GET /metrics": { scope: "cluster:read" },
  "PUT /bundles/": { scope: "jobs:write" },
  "GET /bundles/": { scope: "workers:join" },
  "PUT /outputs/": { scope: "workers:join" },
};

/** What a request needs. Every path but /health needs a credential, those that do not exist too. */
export function accessOf(method: string, path: string): Access {
  const asked = method === "HEAD" ? "GET" : method;
  const folder = path.slice(0, path.indexOf("/", 1) + 1);
  return routes[`${asked} ${path}`] ?? (folder === "" ? undefined : routes[`${asked} ${folder}`]) ?? { scope: "jobs:read" };
}
