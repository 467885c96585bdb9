import { BlockList, isIP } from "node:net";
import { checkScopes } from "./access.js";
import { type AuthRequest, type Authenticator, header, isCrossSite } from "./authenticator.js";

/** Headers by which a proxy says that somebody else sent the request. */
const forwardedHeaders = ["forwarded", "via", "x-real-ip", "x-client-ip", "x-original-host", "true-client-ip", "cf-connecting-ip"];

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");
loopback.addSubnet("::ffff:127.0.0.0", 104, "ipv6");

/**
 * Whether an address reaches this machine only: 127.0.0.0/8, ::1, or the name "localhost". A server that listens elsewhere needs authentication.
 *
 * @param host - an address or a name, IPv6 with or without brackets
 */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (bare === "localhost") return true;
  const family = isIP(bare);
  return family !== 0 && loopback.check(bare, family === 4 ? "ipv4" : "ipv6");
}

/**
 * Trusts whoever is on this machine: only the direct peer counts. A request that a proxy passed on (any forwarding header), that a web page
 * made, that asks for a host that is not this machine (a name that was made to point here), or that carries a credential is left to others.
 *
 * @param options - `name` of the principal, default "local"; `scopes`, default all
 * @throws MarinError RIGGING_BAD_SCOPE
 */
export function loopbackTrust(options: { readonly name?: string; readonly scopes?: readonly string[] } = {}): Authenticator {
  const name = "loopback";
  const principal = { name: options.name ?? "local", scopes: checkScopes(options.scopes ?? ["*"]), authenticator: name };
  return { name, authenticate: (request) => (isLocal(request) ? { outcome: "authenticated", principal } : { outcome: "absent" }) };
}

function isLocal(request: AuthRequest): boolean {
  if (request.remoteAddress === undefined || !isLoopback(request.remoteAddress)) return false;
  const names = Object.keys(request.headers).filter((name) => request.headers[name] !== undefined);
  if (names.some((name) => name === "authorization" || name.startsWith("x-forwarded") || forwardedHeaders.includes(name))) return false;
  const host = header(request, "host");
  return host !== undefined && isLoopback(host.replace(/:\d+$/, "")) && !isCrossSite(request);
}
