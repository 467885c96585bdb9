import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { MarinError } from "./errors.js";

/** The header that carries a token. */
export function authorization(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/**
 * Whether a request may come in: it carries the token, or none is asked for and no web page sent it. Takes the same time
 * wherever a wrong token differs.
 */
export function isAuthorized(request: IncomingMessage, token: string | undefined): boolean {
  // Browsers name the page in every such request: without a token, any page a user visits could reach a server on loopback.
  if (token === undefined) return request.headers.origin === undefined;
  const given = /^Bearer (.*)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

/** Addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Refuses to listen where strangers could come in.
 *
 * @throws MarinError DUCKY_TOKEN_REQUIRED
 */
export function requireToken(host: string, token: string | undefined): void {
  if (token === "" || (token === undefined && !isLoopback(host))) {
    throw new MarinError("DUCKY_TOKEN_REQUIRED", `Listening on ${host} needs a token, because other machines can reach it. Give one, or listen on 127.0.0.1.`, { data: { host } });
  }
}
