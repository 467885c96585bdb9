import type { IncomingMessage } from "node:http";

/** Who a request comes from, and what it may do. */
export interface Principal {
  /** The person or program: "ada", "worker-7". */
  readonly name: string;
  /** What it may do: "jobs:read", "jobs:*", "*". */
  readonly scopes: readonly string[];
  /** Name of the {@link Authenticator} that knew it. */
  readonly authenticator: string;
  /** When its credential ends, in milliseconds since 1970: a connection that outlives this should be closed. Default: never. */
  readonly expiresAt?: number;
}

/** What an authenticator sees of a request. */
export interface AuthRequest {
  /** Names in lower case, as Node's servers give them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Address of the peer of the connection itself, never one that a header names. Undefined once the peer is gone. */
  readonly remoteAddress: string | undefined;
}

/**
 * What an authenticator says of a request. "absent": it carries nothing that this authenticator judges, ask the next. "rejected": it
 * carries a credential of this authenticator's kind that does not hold; nobody else is asked. `reason` is shown to the caller and never
 * holds the credential.
 */
export type AuthResult =
  | { readonly outcome: "authenticated"; readonly principal: Principal }
  | { readonly outcome: "absent" }
  | { readonly outcome: "rejected"; readonly reason: string };

/** One way to tell who sends a request. */
export interface Authenticator {
  /** For people: "loopback", "api-key". */
  readonly name: string;
  /**
   * Judges a request. One that throws (its store cannot be read) fails the request, as a server error; it never counts as "absent".
   *
   * @param request - what arrived
   */
  authenticate(request: AuthRequest): AuthResult | Promise<AuthResult>;
}

/** What is to be judged of a request that Node's HTTP server (or an upgrade to WebSocket) received. */
export function authRequest(message: IncomingMessage): AuthRequest {
  return { headers: message.headers, remoteAddress: message.socket.remoteAddress };
}

/**
 * The token that a request carries: `Authorization: Bearer TOKEN`, or the password of `Authorization: Basic`, which is what a web browser
 * can send. A browser sends the latter along with requests that other pages make too, so those (an `Origin` that is not the server's own
 * host, or `Sec-Fetch-Site: cross-site`) count as carrying none.
 *
 * @returns undefined when there is none of that form
 */
export function bearerToken(request: AuthRequest): string | undefined {
  const authorization = header(request, "authorization");
  const [, scheme, value] = /^(bearer|basic) +([A-Za-z0-9._~+/=-]+) *$/i.exec(authorization ?? "") ?? [];
  if (scheme === undefined || value === undefined) return undefined;
  if (scheme.toLowerCase() === "bearer") return value;
  if (isCrossSite(request)) return undefined;
  const text = Buffer.from(value, "base64").toString("utf8");
  const password = text.slice(text.indexOf(":") + 1);
  return text.includes(":") && password !== "" ? password : undefined;
}

/** Whether a web page of another site sent the request. */
export function isCrossSite(request: AuthRequest): boolean {
  const origin = header(request, "origin");
  const site = header(request, "sec-fetch-site");
  if (site === "cross-site" || site === "same-site") return true;
  return origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== header(request, "host"));
}

/** The one value of a header; several are joined, as HTTP says they mean the same. */
export function header(request: AuthRequest, name: string): string | undefined {
  const value = request.headers[name];
  return value === undefined || typeof value === "string" ? value : value.join(", ");
}
