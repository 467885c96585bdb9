import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { isMarinError } from "@marin/ducky";
import fc from "fast-check";
import { expect, test } from "vitest";
import { redactor } from "../redaction/redactor.js";
import { checkScopes, scopeCovers } from "./access.js";
import { type AuthRequest, type AuthResult, type Authenticator, authRequest, bearerToken } from "./authenticator.js";
import { accessTable, authChain } from "./chain.js";
import { isLoopback, loopbackTrust } from "./loopback.js";

const local: AuthRequest = { headers: { host: "127.0.0.1:8080" }, remoteAddress: "127.0.0.1" };

function fixed(name: string, result: AuthResult, asked: string[] = []): Authenticator {
  return { name, authenticate: () => (asked.push(name), result) };
}

function as(name: string, scopes: readonly string[] = ["*"]): AuthResult {
  return { outcome: "authenticated", principal: { name, scopes, authenticator: name } };
}

const absent: AuthResult = { outcome: "absent" };
const rejected: AuthResult = { outcome: "rejected", reason: "the token ended" };

test("the first authenticator that does not say absent decides; a bad credential never falls through", async () => {
  const kinds = fc.constantFrom(absent, rejected, as("ada"));
  await fc.assert(
    fc.asyncProperty(fc.array(kinds, { maxLength: 6 }), fc.boolean(), async (results, carries) => {
      const asked: string[] = [];
      const chain = authChain(results.map((result, index) => fixed(String(index), result, asked)));
      const request = carries ? { ...local, headers: { authorization: "Bearer x" } } : local;
      const decisive = results.findIndex((result) => result.outcome !== "absent");
      const found = await chain.authenticate(request);
      expect(found.outcome).toBe(decisive < 0 ? (carries ? "rejected" : "absent") : results[decisive]?.outcome);
      expect(asked).toEqual(results.slice(0, decisive < 0 ? results.length : decisive + 1).map((_, index) => String(index)));
    }),
  );
});

test("what lets a request in, and what refuses it how", async () => {
  const authorize = (result: AuthResult, request = local): Promise<unknown> =>
    authChain([fixed("a", result)])
      .authorize(request, { scope: "jobs:read" })
      .catch((error: unknown) => error);
  expect(await authorize(as("ada", ["jobs:*"]))).toMatchObject({ name: "ada" });
  expect(await authorize(as("ada", ["jobs:write"]))).toMatchObject({ code: "RIGGING_FORBIDDEN", data: { status: 403, scope: "jobs:read", principal: "ada" } });
  expect(await authorize(absent)).toMatchObject({ code: "RIGGING_UNAUTHENTICATED", data: { status: 401, challenge: expect.stringContaining("Bearer") as string } });
  // What a server tells its callers goes through the redactor, which must not take the advice for a credential.
  expect(await authorize(absent)).toSatisfy(({ message }: Error) => message.includes("Bearer") && redactor.redact(message) === message);
  expect(await authorize(rejected)).toMatchObject({ code: "RIGGING_UNAUTHENTICATED", message: "Not let in: the token ended." });
  expect(await authorize(absent, { ...local, headers: { authorization: "Digest secret-value" } })).toSatisfy((error) => isMarinError(error, "RIGGING_UNAUTHENTICATED") && !error.message.includes("secret-value"));
  expect(await authChain([]).authorize(local, "public")).toBeUndefined();
  const broken: Authenticator = { name: "keys", authenticate: () => Promise.reject(new Error("disk")) };
  await expect(authChain([broken, fixed("b", as("b"))]).authorize(local, { scope: "a" })).rejects.toMatchObject({ code: "RIGGING_AUTH_UNAVAILABLE", data: { status: 503 } });
});

test("a route that is not marked is closed, whatever its name", async () => {
  const table = accessTable(authChain([fixed("a", as("ada"))]), { "GET /health": "public", "GET /jobs": { scope: "jobs:read" } });
  expect(await table.authorize("GET /health", local)).toBeUndefined();
  expect(await table.authorize("GET /jobs", local)).toMatchObject({ name: "ada" });
  for (const route of ["GET /other", "__proto__", "constructor", "toString", ""]) {
    await expect(table.authorize(route, local)).rejects.toMatchObject({ code: "RIGGING_FORBIDDEN", data: { status: 403 } });
  }
});

test("a scope covers itself, its group, everything", () => {
  expect(scopeCovers(["jobs:read"], "jobs:read")).toBe(true);
  expect(scopeCovers(["jobs:*"], "jobs:read")).toBe(true);
  expect(scopeCovers(["*"], "jobs:read")).toBe(true);
  for (const granted of [[], ["jobs"], ["jobs:reader"], ["job:*"], ["jobs:read:own"], ["jobs:read:*"]]) expect(scopeCovers(granted, "jobs:read")).toBe(false);
  expect(checkScopes(["b", "a:*", "b", "*"])).toEqual(["*", "a:*", "b"]);
  for (const scope of ["", "Jobs", "jobs:", ":read", "jobs:**", "a b", "*:read"]) expect(() => checkScopes([scope])).toThrow(expect.objectContaining({ code: "RIGGING_BAD_SCOPE" }) as Error);
});

test("loopback is trusted for a direct peer only", async () => {
  const outcome = async (request: AuthRequest): Promise<string> => (await authChain([loopbackTrust()]).authenticate(request)).outcome;
  for (const [remoteAddress, host] of [["127.0.0.1", "127.0.0.1:80"], ["127.9.9.9", "localhost:8080"], ["::1", "[::1]:80"], ["::ffff:127.0.0.1", "localhost"]] as const) {
    expect(await outcome({ headers: { host }, remoteAddress })).toBe("authenticated");
  }
  for (const remoteAddress of [undefined, "", "10.0.0.1", "128.0.0.1", "::", "::2", "::ffff:10.0.0.1", "fe80::1", "127.0.0.1.evil"]) expect(await outcome({ ...local, remoteAddress })).toBe("absent");
  for (const name of ["forwarded", "via", "x-forwarded-for", "x-forwarded-proto", "x-real-ip", "cf-connecting-ip"]) expect(await outcome({ ...local, headers: { ...local.headers, [name]: "127.0.0.1" } })).toBe("absent");
  // A name that resolves to this machine, a page of another site, a page without origin.
  for (const headers of [{}, { host: "evil.example:80" }, { host: "localhost:8080", origin: "https://evil.example" }, { host: "localhost:8080", origin: "null" }, { host: "localhost:8080", "sec-fetch-site": "cross-site" }]) {
    expect(await outcome({ ...local, headers })).toBe("absent");
  }
  expect(await outcome({ ...local, headers: { host: "localhost:8080", origin: "http://localhost:8080" } })).toBe("authenticated");
  expect(await outcome({ ...local, headers: { ...local.headers, authorization: "Bearer wrong" } })).toBe("rejected");
});

test("which hosts are this machine", () => {
  for (const host of ["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1", "[::1]", "::ffff:127.0.0.1"]) expect(isLoopback(host)).toBe(true);
  for (const host of ["0.0.0.0", "::", "", "localhost.evil", "10.0.0.1", "example.com", "1"]) expect(isLoopback(host)).toBe(false);
});

test("a token is taken from Bearer, or from Basic's password unless a page of another site sent it", () => {
  const token = (headers: Record<string, string>): string | undefined => bearerToken({ headers, remoteAddress: undefined });
  const basic = `Basic ${Buffer.from("ada:k:ey").toString("base64")}`;
  expect(token({ authorization: "Bearer abc.def" })).toBe("abc.def");
  expect(token({ authorization: "bearer abc" })).toBe("abc");
  expect(token({ authorization: basic, host: "h" })).toBe("k:ey");
  expect(token({ authorization: basic, host: "h", origin: "https://h" })).toBe("k:ey");
  expect(token({ authorization: basic, host: "h", origin: "https://evil" })).toBeUndefined();
  for (const authorization of ["", "Bearer", "Bearer ", "Bearer a b", "Bearerabc", "Token abc", `Basic ${Buffer.from("no colon").toString("base64")}`]) expect(token({ authorization })).toBeUndefined();
});

test("a real server sees its peer", async () => {
  const server = createServer((message, response) => {
    void authChain([loopbackTrust()])
      .authenticate(authRequest(message))
      .then(({ outcome }) => response.end(outcome));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  expect(await (await fetch(url)).text()).toBe("authenticated");
  expect(await (await fetch(url, { headers: { "x-forwarded-for": "1.2.3.4" } })).text()).toBe("absent");
  expect(await (await fetch(url, { headers: { authorization: "Bearer x" } })).text()).toBe("rejected");
  await new Promise((resolve) => (server.close(resolve), server.closeAllConnections()));
});
