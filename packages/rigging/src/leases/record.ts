import { MarinError } from "@marin/ducky";
import { livenessOf, ownIdentity, type ProcessIdentity } from "../process-identity.js";

/** What the object of a lease holds. It stays when the lease is given back, so that tokens never begin again. */
export interface LeaseRecord {
  /** Counts the terms; each is one higher than the one before. */
  readonly token: number;
  /** Names the term for good. */
  readonly term: string;
  /** The process that holds it. */
  readonly owner: ProcessIdentity;
  /** Who that is, for people. */
  readonly holder: string;
  /** How long after a refresh the lease is stale, in milliseconds. */
  readonly ttlMs: number;
  /** Counts the refreshes: an unchanged object was not refreshed. */
  readonly refreshes: number;
  /** Whether it was given back. */
  readonly released: boolean;
}

/** As the object's content. */
export function encodeRecord(record: LeaseRecord): string {
  return `${JSON.stringify({ lease: 1, ...record })}\n`;
}

/** @throws MarinError RIGGING_BAD_LEASE for an object that is no lease */
export function decodeRecord(path: string, content: Uint8Array): LeaseRecord {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
  } catch {
    value = undefined;
  }
  const record = (value ?? {}) as Partial<LeaseRecord> & { readonly lease?: unknown };
  const isRecord =
    record.lease === 1 &&
    Number.isSafeInteger(record.token) &&
    typeof record.term === "string" &&
    typeof record.holder === "string" &&
    typeof record.released === "boolean" &&
    Number.isFinite(record.ttlMs) &&
    Number.isSafeInteger(record.refreshes) &&
    Number.isSafeInteger(record.owner?.pid) &&
    typeof record.owner?.started === "string" &&
    typeof record.owner.scope === "string";
  if (isRecord) return record as LeaseRecord;
  throw new MarinError("RIGGING_BAD_LEASE", `${path} is no lease, or one of another version of this program: choose another path, or remove it when nobody works under it.`, { data: { path } });
}

/** Whether the term is over for certain: given back, or its process of this machine is gone. */
export function isOver({ released, owner }: LeaseRecord): boolean {
  return released || (owner.scope === ownIdentity().scope && livenessOf(owner) === "dead");
}
