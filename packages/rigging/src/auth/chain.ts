import { MarinError, isMarinError } from "@marin/ducky";
import { type Access, scopeCovers } from "./access.js";
import { type AuthRequest, type AuthResult, type Authenticator, type Principal, header } from "./authenticator.js";

/** Several authenticators, asked in turn. */
export interface AuthChain {
  /**
   * Who sends a request. The first authenticator that knows the request's credential decides; a credential that nobody knows is rejected
   * like one that does not hold.
   *
   * @throws MarinError RIGGING_AUTH_UNAVAILABLE when an authenticator fails (`data.status` 503)
   */
  authenticate(request: AuthRequest): Promise<AuthResult>;
  /**
   * Lets a request pass or refuses it.
   *
   * @param access - what the route asks for
   * @returns who it is; undefined on a public route, where nobody is asked
   * @throws MarinError RIGGING_UNAUTHENTICATED (`data.status` 401, `data.challenge` the value of WWW-Authenticate), RIGGING_FORBIDDEN
   * (`data.status` 403, `data.scope` what was lacking), RIGGING_AUTH_UNAVAILABLE (503)
   */
  authorize(request: AuthRequest, access: Access): Promise<Principal | undefined>;
}

/**
 * Asks authenticators in turn. With none, only public routes are open.
 *
 * @param authenticators - in the order in which they are asked; `loopbackTrust` usually last
 */
export function authChain(authenticators: readonly Authenticator[]): AuthChain {
  return { authenticate, authorize };

  async function authenticate(request: AuthRequest): Promise<AuthResult> {
    for (const authenticator of authenticators) {
      const result = await ask(authenticator, request);
      if (result.outcome !== "absent") return result;
    }
    return header(request, "authorization") === undefined ? { outcome: "absent" } : { outcome: "rejected", reason: "the credential is of no kind that this server knows" };
  }

  async function authorize(request: AuthRequest, access: Access): Promise<Principal | undefined> {
    if (access === "public") return undefined;
    const result = await authenticate(request);
    if (result.outcome !== "authenticated") {
      const reason = result.outcome === "absent" ? "the request carries no credential: send the header Authorization, with the word Bearer and a token" : result.reason;
      throw new MarinError("RIGGING_UNAUTHENTICATED", `Not let in: ${reason}.`, { data: { status: 401, challenge: 'Bearer realm="marin", Basic realm="marin", charset="UTF-8"' } });
    }
    const { principal } = result;
    if (!scopeCovers(principal.scopes, access.scope)) {
      throw new MarinError("RIGGING_FORBIDDEN", `${principal.name} may not do this: it needs the scope ${access.scope}, and the credential has ${principal.scopes.join(", ") || "none"}.`, {
        data: { status: 403, scope: access.scope, scopes: principal.scopes, principal: principal.name },
      });
    }
    return principal;
  }
}

async function ask(authenticator: Authenticator, request: AuthRequest): Promise<AuthResult> {
  try {
    return await authenticator.authenticate(request);
  } catch (cause) {
    const code = isMarinError(cause) ? ` (${cause.code})` : "";
    throw new MarinError("RIGGING_AUTH_UNAVAILABLE", `Credentials cannot be checked now: ${authenticator.name} failed${code}.`, { data: { status: 503, authenticator: authenticator.name }, cause });
  }
}

/** What each route of a server asks of its callers. */
export interface AccessTable {
  /**
   * Lets a request to a route pass or refuses it. A route that the table lacks is refused to all.
   *
   * @throws MarinError as {@link AuthChain.authorize}; RIGGING_FORBIDDEN for a route that the table lacks
   */
  authorize(route: string, request: AuthRequest): Promise<Principal | undefined>;
}

/**
 * Marks routes as public or as needing a scope. What is not marked is closed.
 *
 * @param chain - who tells who sends a request
 * @param routes - by name: "GET /health", "iris.jobs/submit"
 */
export function accessTable(chain: AuthChain, routes: Readonly<Record<string, Access>>): AccessTable {
  const marked = new Map(Object.entries(routes));
  return {
    async authorize(route, request) {
      const access = marked.get(route);
      if (access !== undefined) return await chain.authorize(request, access);
      throw new MarinError("RIGGING_FORBIDDEN", `The route ${JSON.stringify(route.slice(0, 100))} is closed: it is marked neither public nor with a scope.`, { data: { status: 403 } });
    },
  };
}
