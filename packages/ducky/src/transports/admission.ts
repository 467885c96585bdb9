import type { IncomingMessage } from "node:http";
import { isMarinError, MarinError } from "../errors.js";
import type { Authenticate, Identity } from "../identity.js";

/** How a server tells whom to let in. */
export interface Admission {
  /** What every client must carry. */
  readonly token: string | undefined;
  /** Judges each request. */
  readonly authenticate: Authenticate | undefined;
}

/** Whether a request may come in: who it is, or what it is answered. */
export type Verdict = { readonly identity: Identity | undefined } | { readonly status: number; readonly text: string };

const missing = { status: 401, text: "The token is missing or wrong." };

/** Judges a request that wants to become a connection. Takes the same time wherever a wrong token differs. */
export async function admit(request: IncomingMessage, { token, authenticate }: Admission): Promise<Verdict> {
  const { authorization } = request.headers;
  if (token !== undefined) return (await carries(authorization, token)) ? { identity: undefined } : missing;
  // Browsers name the page in every such request: otherwise any page a user visits could reach a server that trusts this machine.
  if (authenticate === undefined) return request.headers.origin === undefined ? { identity: undefined } : missing;
  if (authorization === undefined && isForeignPage(request)) return { status: 403, text: "Pages of other sites are refused." };
  try {
    const identity = await authenticate({ headers: request.headers, remoteAddress: request.socket.remoteAddress });
    return identity === undefined ? missing : { identity };
  } catch (error) {
    // Only what was written for the client: another error's message may say anything.
    if (!isMarinError(error)) return { status: 500, text: "Who you are could not be checked." };
    const status = error.data["status"];
    return { status: Number.isInteger(status) && (status as number) >= 400 && (status as number) < 600 ? (status as number) : 401, text: error.message };
  }
}

/** Loads what that takes here: worker processes start without. */
async function carries(authorization: string | undefined, token: string): Promise<boolean> {
  const { createHash, timingSafeEqual } = await import("node:crypto");
  const given = /^Bearer (.*)$/.exec(authorization ?? "")?.[1] ?? "";
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

function isForeignPage({ headers: { origin, host } }: IncomingMessage): boolean {
  return origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host);
}

/** Addresses that only this machine can reach. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Refuses to listen where strangers could come in.
 *
 * @throws MarinError DUCKY_TOKEN_REQUIRED
 */
export function requireAdmission(host: string, { token, authenticate }: Admission): void {
  if (token === "" || (token === undefined && authenticate === undefined && !isLoopback(host))) {
    throw new MarinError("DUCKY_TOKEN_REQUIRED", `Listening on ${host} needs a token or authenticate, because other machines can reach it. Give one, or listen on 127.0.0.1.`, { data: { host } });
  }
  if (token !== undefined && authenticate !== undefined) {
    throw new MarinError("DUCKY_TOKEN_REQUIRED", "A server takes either a token or authenticate, not both: let authenticate judge the token.", { data: { host } });
  }
}
