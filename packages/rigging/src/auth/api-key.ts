import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { MarinError } from "@marin/ducky";
import { fileError } from "../files/file-error.js";
import { makeDirectory } from "../files/make-directory.js";
import { writeFileAtomic } from "../files/write-atomic.js";
import { Secret } from "../secrets.js";
import { type Clock, systemClock } from "../time/clock.js";
import { checkScopes } from "./access.js";
import { type AuthResult, type Authenticator, bearerToken } from "./authenticator.js";

/** What is kept of an API key: not the key. */
export interface ApiKeyRecord {
  /** Stands in the key too, so that a key that is found can be revoked. */
  readonly id: string;
  /** The person or program that it is for. */
  readonly name: string;
  /** What it may do. */
  readonly scopes: readonly string[];
  /** SHA-256 of the key's secret part, in hexadecimal. The secret has 256 random bits, so a slow hash would add nothing. */
  readonly hash: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** When it ends, in milliseconds since 1970. Default: never. */
  readonly expiresAt?: number;
  /** When it was revoked, in milliseconds since 1970. Default: it was not. */
  readonly revokedAt?: number;
}

/** The API keys of a server. */
export interface ApiKeys {
  /**
   * Makes a key. Its text is returned here and kept nowhere.
   *
   * @param grant - whom it is for, what it may do, and when it ends
   * @throws MarinError RIGGING_BAD_SCOPE; the file errors of `writeFileAtomic`
   */
  create(grant: { readonly name: string; readonly scopes: readonly string[]; readonly expiresAt?: number }): Promise<{ readonly key: Secret; readonly record: ApiKeyRecord }>;
  /**
   * Ends a key, for every request from now on.
   *
   * @throws MarinError RIGGING_NOT_FOUND
   */
  revoke(id: string): Promise<void>;
  /** All keys, those that ended included, by id. */
  list(): Promise<readonly ApiKeyRecord[]>;
  /** The key of that id. */
  find(id: string): Promise<ApiKeyRecord | undefined>;
}

const idPattern = /^[A-Za-z0-9]{12}$/;

/**
 * The keys in a directory, one file each, readable for this user only. Several processes may use it at the same time: each file is whole, and a key that
 * one revokes ends for all at once.
 *
 * @param directory - made if it is not there
 * @throws MarinError the file errors of `writeFileAtomic`
 */
export async function openApiKeys(directory: string, { clock = systemClock }: { readonly clock?: Clock } = {}): Promise<ApiKeys> {
  await makeDirectory(directory, { mode: 0o700 }).catch((error: unknown) => {
    throw fileError(error, { action: "create the directory", path: directory });
  });
  const fileOf = (id: string): string => join(directory, `${id}.json`);
  const write = (record: ApiKeyRecord): Promise<number> => writeFileAtomic(fileOf(record.id), `${JSON.stringify(record)}\n`, { mode: 0o600 });

  async function find(id: string): Promise<ApiKeyRecord | undefined> {
    if (!idPattern.test(id)) return undefined;
    let text: string;
    try {
      text = await readFile(fileOf(id), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw fileError(error, { action: "read", path: fileOf(id) });
    }
    return parseRecord(text, fileOf(id));
  }

  return {
    find,
    async create({ name, scopes, expiresAt }) {
      const id = randomBytes(32).toString("base64").replace(/[^A-Za-z0-9]/g, "").slice(0, 12);
      const secret = randomBytes(32).toString("base64url");
      const record: ApiKeyRecord = { id, name, scopes: checkScopes(scopes), hash: hashOf(secret), createdAt: clock.now(), ...(expiresAt === undefined ? {} : { expiresAt }) };
      await write(record);
      return { key: new Secret(`API key ${id}`, `marin_${id}_${secret}`), record };
    },
    async revoke(id) {
      const record = await find(id);
      if (record === undefined) throw new MarinError("RIGGING_NOT_FOUND", `There is no API key ${JSON.stringify(id)}.`, { data: { id } });
      await write({ ...record, revokedAt: record.revokedAt ?? clock.now() });
    },
    async list() {
      const names = (await readdir(directory)).filter((file) => file.endsWith(".json")).map((file) => file.slice(0, -5));
      const records = await Promise.all(names.sort().map(find));
      return records.filter((record) => record !== undefined);
    },
  };
}

/** Knows API keys. What has not their form is left to the next authenticator; what has it and does not hold is rejected. */
export function apiKeys(keys: Pick<ApiKeys, "find">, { clock = systemClock }: { readonly clock?: Clock } = {}): Authenticator {
  const name = "api-key";

  async function authenticate(id: string, secret: string): Promise<AuthResult> {
    const record = await keys.find(id);
    // The same work whether or not the id is known, so that time tells nothing.
    const matches = timingSafeEqual(Buffer.from(hashOf(secret), "hex"), Buffer.from(record?.hash ?? hashOf(""), "hex"));
    if (record === undefined || !matches) return { outcome: "rejected", reason: "the API key is not known" };
    if (record.revokedAt !== undefined) return { outcome: "rejected", reason: "the API key was revoked" };
    if (record.expiresAt !== undefined && clock.now() >= record.expiresAt) return { outcome: "rejected", reason: "the API key has ended" };
    return { outcome: "authenticated", principal: { name: record.name, scopes: record.scopes, authenticator: name, ...(record.expiresAt === undefined ? {} : { expiresAt: record.expiresAt }) } };
  }

  return {
    name,
    authenticate: (request) => {
      const [, id, secret] = /^marin_([A-Za-z0-9]{12})_([A-Za-z0-9_-]{43})$/.exec(bearerToken(request) ?? "") ?? [];
      return id === undefined || secret === undefined ? { outcome: "absent" } : authenticate(id, secret);
    },
  };
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

function parseRecord(text: string, path: string): ApiKeyRecord {
  let found = null as Partial<Record<keyof ApiKeyRecord, unknown>> | null;
  try {
    found = JSON.parse(text) as typeof found;
  } catch {
    // Told below, like any other damage.
  }
  const { id, name, scopes, hash, createdAt, expiresAt, revokedAt } = found ?? {};
  const timesHold = [expiresAt, revokedAt].every((time) => time === undefined || typeof time === "number");
  if (typeof id === "string" && typeof name === "string" && Array.isArray(scopes) && scopes.every((scope) => typeof scope === "string") && typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash) && typeof createdAt === "number" && timesHold) {
    return found as ApiKeyRecord;
  }
  throw new MarinError("RIGGING_BAD_JSON", `The file of an API key is damaged: ${path}. Remove it, which ends the key, and make another.`, { data: { path } });
}
