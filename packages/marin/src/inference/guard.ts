import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { ApiError } from "./api-error.js";

const OWN_NAMES: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Lets only those requests through that may be answered: with the token, where there is one; else those to one of this machine's own names, so that
 * no web page reaches the server through a name of its own that points here. A body must say that it is JSON, which a foreign page can't without asking first.
 */
export function guardRequests(token: string | undefined): MiddlewareHandler {
  const expected = token === undefined ? undefined : digest(`Bearer ${token}`);
  return async (c, next) => {
    if (expected === undefined) {
      const host = new URL(c.req.url).hostname;
      if (!OWN_NAMES.has(host)) throw new ApiError(403, `this server answers to localhost only, not to ${host}`, { code: "forbidden_host" });
    } else if (!timingSafeEqual(expected, digest(c.req.header("Authorization") ?? ""))) {
      throw new ApiError(401, "this server needs its token: Authorization: Bearer <token>", { code: "unauthorized", headers: { "WWW-Authenticate": "Bearer" } });
    }
    if (c.req.method === "POST" && !/^application\/json\s*(;|$)/i.test(c.req.header("Content-Type") ?? "")) {
      throw new ApiError(415, "a request's body must be JSON: Content-Type: application/json", { code: "unsupported_media_type" });
    }
    await next();
  };
}

/** Of one length whatever was sent, so that comparing tells nothing. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
