import { createHmac, createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Secret } from "../secrets.js";
import { ManualClock } from "../time/clock.js";
import type { AuthResult, Authenticator } from "./authenticator.js";
import { type SignedTokensOptions, type SigningKey, type VerifyingKey, createTokenSigner, generateSigningKey, signedTokens } from "./signed-token.js";

const now = Date.UTC(2030, 0, 1);
const pair = generateSigningKey("k1");
const shared: SigningKey & VerifyingKey = { id: "h1", algorithm: "HS256", secret: new Secret("hmac", "0123456789abcdef0123456789abcdef") };
const grant = { name: "ada", scopes: ["jobs:read", "jobs:write"], lifeMs: 60_000 };

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const decode = (part: string | undefined): unknown => JSON.parse(Buffer.from(part ?? "", "base64url").toString());

/** A token made by hand, after RFC 7515, without the library. */
function forge(header: object, payload: object, key: SigningKey | "none" | Buffer = pair.signing): string {
  const signed = `${encode(header)}.${encode(payload)}`;
  if (key === "none") return `${signed}.`;
  const bytes =
    Buffer.isBuffer(key) ? createHmac("sha256", key).update(signed).digest()
    : key.algorithm === "HS256" ? createHmac("sha256", key.secret.reveal()).update(signed).digest()
    : sign(null, Buffer.from(signed), createPrivateKey(key.privateKey.reveal()));
  return `${signed}.${bytes.toString("base64url")}`;
}

const header = { alg: "EdDSA", kid: "k1", typ: "at+jwt" };
const claims = { iss: "iris", aud: "iris", sub: "ada", iat: now / 1000, exp: now / 1000 + 60, jti: "1", scope: "jobs:read" };

function ask(authenticator: Authenticator, token: string): Promise<AuthResult> {
  return Promise.resolve(authenticator.authenticate({ headers: { authorization: `Bearer ${token}` }, remoteAddress: undefined }));
}

function knows(options: Partial<SignedTokensOptions> = {}): Authenticator {
  return signedTokens({ keys: [pair.verifying, shared], issuer: "iris", clock: new ManualClock({ startMs: now }), ...options });
}

test.each([["EdDSA", pair.signing], ["HS256", shared]] as const)("a token of %s says who, what and until when, and Node's own crypto agrees with its signature", async (algorithm, key) => {
  const clock = new ManualClock({ startMs: now + 999 });
  const { secret, expiresAt, id } = await createTokenSigner({ key, issuer: "iris", clock }).sign(grant);
  expect(expiresAt).toBe(now + 60_000);
  expect(await ask(knows({ clock }), secret.reveal())).toEqual({ outcome: "authenticated", principal: { name: "ada", scopes: ["jobs:read", "jobs:write"], authenticator: "signed-token", expiresAt } });
  const [head, body, signature] = secret.reveal().split(".");
  expect(decode(head)).toEqual({ alg: algorithm, kid: key.id, typ: "at+jwt" });
  expect(decode(body)).toEqual({ iss: "iris", aud: "iris", sub: "ada", iat: now / 1000, exp: now / 1000 + 60, jti: id, scope: "jobs:read jobs:write" });
  const [signed, bytes] = [Buffer.from(`${head ?? ""}.${body ?? ""}`), Buffer.from(signature ?? "", "base64url")];
  if (key.algorithm === "HS256") expect(createHmac("sha256", key.secret.reveal()).update(signed).digest().equals(bytes)).toBe(true);
  else expect(pair.verifying.algorithm === "EdDSA" && verify(null, signed, createPublicKey(pair.verifying.publicKey), bytes)).toBe(true);
});

test("a token made by another implementation is known", async () => {
  expect((await ask(knows(), forge(header, claims))).outcome).toBe("authenticated");
  expect((await ask(knows(), forge({ ...header, alg: "HS256", kid: "h1" }, claims, shared))).outcome).toBe("authenticated");
});

test("a token that does not hold is rejected, and says why without showing it", async () => {
  const publicPem = pair.verifying.algorithm === "EdDSA" ? pair.verifying.publicKey : "";
  const other = generateSigningKey("k1").signing;
  const bad: Record<string, string> = {
    "without signature": forge({ ...header, alg: "none" }, claims, "none"),
    "the public key as HS256's secret": forge({ ...header, alg: "HS256" }, claims, Buffer.from(publicPem)),
    "HS256 with an EdDSA key's id": forge({ ...header, alg: "HS256", kid: "k1" }, claims, shared),
    "another key of the same id": forge(header, claims, other),
    "an id that is not trusted": forge({ ...header, kid: "k2" }, claims),
    "no id": forge({ alg: "EdDSA", typ: "at+jwt" }, claims),
    "another type": forge({ ...header, typ: "JWT" }, claims),
    "another audience": forge(header, { ...claims, aud: "other" }),
    "no subject": forge(header, { ...claims, sub: undefined }),
    "no end": forge(header, { ...claims, exp: undefined }),
    "a scope that is no text": forge(header, { ...claims, scope: ["*"] }),
    "ended": forge(header, { ...claims, exp: now / 1000 - 5 }),
    "not yet": forge(header, { ...claims, nbf: now / 1000 + 60 }),
    "a critical extension": forge({ ...header, crit: ["x"], x: 1 }, claims),
  };
  for (const [name, token] of Object.entries(bad)) {
    const result = await ask(knows(), token);
    expect([name, result.outcome]).toEqual([name, "rejected"]);
    expect(JSON.stringify(result)).not.toContain(token.split(".")[2] || "never");
  }
  expect(await ask(knows(), bad["ended"] ?? "")).toMatchObject({ reason: expect.stringContaining("ended") as string });
  expect((await ask(knows({ leewayMs: 6000 }), bad["ended"] ?? "")).outcome).toBe("authenticated");
});

test("no changed byte of a token gets in", async () => {
  const token = forge(header, claims);
  await fc.assert(
    fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(..."ABCxyz019-_."), async (at, character) => {
      fc.pre(token[at] !== character);
      const changed = token.slice(0, at) + character + token.slice(at + 1);
      // The last character of a part may hold bits that do not count; what decodes to the same bytes is the same token.
      fc.pre(changed.split(".").some((part, index) => !Buffer.from(part, "base64url").equals(Buffer.from(token.split(".")[index] ?? "", "base64url"))));
      expect((await ask(knows(), changed)).outcome).not.toBe("authenticated");
    }),
    { numRuns: 200 },
  );
});

test("what is no token of this issuer is left to others", async () => {
  for (const token of ["abc", "a.b.c", "marin_x_y", forge(header, { ...claims, iss: "other" })]) expect((await ask(knows(), token)).outcome).toBe("absent");
});

test("revoked tokens, and tokens of keys that were retired, are rejected", async () => {
  const token = forge(header, claims);
  expect(await ask(knows({ isRevoked: (id) => id === "1" }), token)).toEqual({ outcome: "rejected", reason: "the token was revoked" });
  expect(await ask(knows({ keys: [shared] }), token)).toEqual({ outcome: "rejected", reason: "the token's key is not known here, or no longer" });
  await expect(ask(knows({ isRevoked: () => Promise.reject(new Error("disk")) }), token)).rejects.toThrow("disk");
});

test("keys that cannot serve are refused, and not shown", () => {
  const badKey = expect.objectContaining({ code: "RIGGING_BAD_KEY" }) as Error;
  const short = new Secret("short", "hunter2hunter2");
  expect(() => createTokenSigner({ issuer: "iris", key: { id: "h", algorithm: "HS256", secret: short } })).toThrow(badKey);
  expect(() => createTokenSigner({ issuer: "iris", key: { id: "e", algorithm: "EdDSA", privateKey: short } })).toThrow(expect.objectContaining({ message: expect.not.stringContaining("hunter2") as string }) as Error);
  expect(() => knows({ keys: [{ id: "e", algorithm: "EdDSA", publicKey: "no PEM" }] })).toThrow(badKey);
});

test("grants are checked", async () => {
  const signer = createTokenSigner({ key: shared, issuer: "iris" });
  await expect(signer.sign({ ...grant, scopes: ["Jobs"] })).rejects.toMatchObject({ code: "RIGGING_BAD_SCOPE" });
  for (const lifeMs of [0, Infinity, NaN]) await expect(signer.sign({ ...grant, lifeMs })).rejects.toMatchObject({ code: "RIGGING_BAD_OPTION" });
});
