import { createPrivateKey, createPublicKey, createSecretKey, generateKeyPairSync, randomUUID, type KeyObject } from "node:crypto";
import { MarinError } from "@marin/ducky";
import { Secret } from "../secrets.js";
import { type Clock, systemClock } from "../time/clock.js";
import { checkScopes } from "./access.js";
import { type AuthResult, type Authenticator, bearerToken } from "./authenticator.js";
import type { Token } from "./token-provider.js";

/** A key that signs tokens. HS256 verifies with the same secret; EdDSA (Ed25519) with a public key, so that who verifies cannot sign. */
export type SigningKey =
  | { readonly id: string; readonly algorithm: "HS256"; readonly secret: Secret }
  | { readonly id: string; readonly algorithm: "EdDSA"; readonly privateKey: Secret };

/** A key that verifies tokens; `publicKey` is SPKI as PEM. */
export type VerifyingKey =
  | { readonly id: string; readonly algorithm: "HS256"; readonly secret: Secret }
  | { readonly id: string; readonly algorithm: "EdDSA"; readonly publicKey: string };

/** Who issues tokens, and for whom. Both sides must agree. */
export interface TokenRealm {
  /** Name of the server that issues: "iris". */
  readonly issuer: string;
  /** Name of the servers that accept. Default: the issuer. */
  readonly audience?: string;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** What a token says. */
export interface TokenGrant {
  /** The person or program that it is for. */
  readonly name: string;
  /** What it may do. */
  readonly scopes: readonly string[];
  /** How long it holds, in milliseconds; whole seconds count. */
  readonly lifeMs: number;
}

/** Issues signed tokens. */
export interface TokenSigner {
  /**
   * Issues a token.
   *
   * @returns the token, when it ends, and the id by which it can be revoked
   * @throws MarinError RIGGING_BAD_SCOPE, RIGGING_BAD_OPTION
   */
  sign(grant: TokenGrant): Promise<Token & { readonly id: string; readonly expiresAt: number }>;
}

/** Media type of our tokens (RFC 9068), which keeps other signed texts of the same key from being taken for one. */
const tokenType = "at+jwt";

/** RFC 7518, section 3.2: a key of HS256 has at least the size of its hash. */
const minSecretBytes = 32;

/**
 * A new Ed25519 key pair.
 *
 * @param id - tells this key from earlier and later ones
 */
export function generateSigningKey(id: string): { readonly signing: SigningKey; readonly verifying: VerifyingKey } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519", { privateKeyEncoding: { type: "pkcs8", format: "pem" }, publicKeyEncoding: { type: "spki", format: "pem" } });
  return { signing: { id, algorithm: "EdDSA", privateKey: new Secret(`signing key ${id}`, privateKey) }, verifying: { id, algorithm: "EdDSA", publicKey } };
}

/**
 * Issues JSON Web Tokens (RFC 7519) with scopes and an end.
 *
 * @throws MarinError RIGGING_BAD_KEY
 */
export function createTokenSigner({ key, issuer, audience = issuer, clock = systemClock }: TokenRealm & { readonly key: SigningKey }): TokenSigner {
  const material = keyMaterial(key, () => (key.algorithm === "HS256" ? symmetric(key.secret) : createPrivateKey(key.privateKey.reveal())));
  return {
    async sign({ name, scopes, lifeMs }) {
      if (!(lifeMs >= 1000 && lifeMs < Infinity)) throw new MarinError("RIGGING_BAD_OPTION", `A token holds for at least 1000 ms and not for ever, and lifeMs is ${String(lifeMs)}.`, { data: { option: "lifeMs", found: lifeMs } });
      const { SignJWT } = await import("jose");
      const [now, id] = [Math.floor(clock.now() / 1000), randomUUID()];
      const end = now + Math.floor(lifeMs / 1000);
      const text = await new SignJWT({ scope: checkScopes(scopes).join(" ") })
        .setProtectedHeader({ alg: key.algorithm, kid: key.id, typ: tokenType })
        .setIssuer(issuer).setAudience(audience).setSubject(name).setIssuedAt(now).setExpirationTime(end).setJti(id)
        .sign(material);
      return { secret: new Secret(`token of ${name}`, text), expiresAt: end * 1000, id };
    },
  };
}

/** Settings of {@link signedTokens}. */
export interface SignedTokensOptions extends TokenRealm {
  /** The keys that are trusted, told apart by their ids: the current one, and older ones until their tokens have ended. */
  readonly keys: readonly VerifyingKey[];
  /** How far clocks may differ, in milliseconds. Default 5 000. */
  readonly leewayMs?: number;
  /** Whether the token of that id was revoked. Default: none was. */
  readonly isRevoked?: (id: string) => boolean | Promise<boolean>;
}

/**
 * Knows the tokens of a {@link TokenSigner}. A token of another issuer is left to the next authenticator; one that names this issuer and does not hold is
 * rejected.
 *
 * @throws MarinError RIGGING_BAD_KEY
 */
export function signedTokens(options: SignedTokensOptions): Authenticator {
  const { keys, issuer, audience = issuer, clock = systemClock, leewayMs = 5000, isRevoked } = options;
  const name = "signed-token";
  const trusted = new Map(keys.map((key) => [key.id, { algorithm: key.algorithm, material: keyMaterial(key, () => (key.algorithm === "HS256" ? symmetric(key.secret) : createPublicKey(key.publicKey))) }]));

  async function authenticate(token: string): Promise<AuthResult> {
    const { decodeJwt, errors, jwtVerify } = await import("jose");
    let claimed: unknown;
    try {
      claimed = decodeJwt(token).iss;
    } catch {
      return { outcome: "absent" };
    }
    if (claimed !== issuer) return { outcome: "absent" };
    try {
      const { payload } = await jwtVerify(
        token,
        (header) => {
          const key = trusted.get(header.kid ?? "");
          // A key serves its own algorithm only: a public key must never be taken for HS256's secret.
          if (key?.algorithm !== header.alg) throw new errors.JWKSNoMatchingKey();
          return key.material;
        },
        { algorithms: ["HS256", "EdDSA"], issuer, audience, typ: tokenType, currentDate: new Date(clock.now()), clockTolerance: leewayMs / 1000, requiredClaims: ["sub", "exp", "iat", "jti", "scope"] },
      );
      const { sub, exp, jti, scope } = payload;
      if (sub === undefined || exp === undefined || jti === undefined || typeof scope !== "string") return reject("the token is not complete");
      if ((await isRevoked?.(jti)) === true) return reject("the token was revoked");
      return { outcome: "authenticated", principal: { name: sub, scopes: scope.split(" ").filter(Boolean), authenticator: name, expiresAt: exp * 1000 } };
    } catch (error) {
      if (error instanceof errors.JWTExpired) return reject("the token has ended: get a new one");
      if (error instanceof errors.JWKSNoMatchingKey) return reject("the token's key is not known here, or no longer");
      if (error instanceof errors.JWTClaimValidationFailed) return reject(`the token's claim "${error.claim}" does not hold here`);
      if (error instanceof errors.JOSEError) return reject("the token does not hold");
      throw error;
    }
  }

  return {
    name,
    authenticate: (request) => {
      const token = bearerToken(request);
      return token?.split(".").length === 3 ? authenticate(token) : { outcome: "absent" };
    },
  };
}

function reject(reason: string): AuthResult {
  return { outcome: "rejected", reason };
}

function symmetric(secret: Secret): KeyObject {
  const bytes = Buffer.from(secret.reveal(), "utf8");
  if (bytes.byteLength < minSecretBytes) throw new Error(`HS256 needs at least ${String(minSecretBytes)} bytes`);
  return createSecretKey(bytes);
}

function keyMaterial(key: { readonly id: string; readonly algorithm: string }, make: () => KeyObject): KeyObject {
  try {
    const material = make();
    if (key.algorithm === "EdDSA" && material.asymmetricKeyType !== "ed25519") throw new Error("it is not of Ed25519");
    return material;
  } catch (error) {
    const why = error instanceof Error && !("code" in error) ? error.message : "it is no PEM of that kind";
    throw new MarinError("RIGGING_BAD_KEY", `The key "${key.id}" cannot be used for ${key.algorithm}: ${why}.`, { data: { key: key.id, algorithm: key.algorithm } });
  }
}
