import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStorage } from "../src/storage/create.js";
import type { Storage } from "../src/storage/storage.js";
import { startGcsServer, startS3Server } from "../src/testing.js";

/** A place for leases, and what takes it away. */
export interface LeasePlace extends AsyncDisposable {
  readonly base: string;
  readonly endpoint: string;
  readonly storage: Storage;
}

/** The kinds of stores that have leases and lie outside one process. */
export const leaseKinds = ["file", "gs", "s3"] as const;

/** Makes a place of a kind. */
export async function leasePlace(kind: (typeof leaseKinds)[number]): Promise<LeasePlace> {
  if (kind === "file") {
    const base = await mkdtemp(join(tmpdir(), "rigging-leases-"));
    return { base, endpoint: "", storage: createStorage(), [Symbol.asyncDispose]: () => rm(base, { recursive: true }) };
  }
  const server = kind === "gs" ? await startGcsServer({ buckets: ["bucket"] }) : await startS3Server({ buckets: ["bucket"] });
  const storage = kind === "gs" ? createStorage({ gcs: { endpoint: server.endpoint } }) : createStorage({ s3: { endpoint: server.endpoint, credentials: "anonymous" } });
  return { base: `${kind}://bucket/leases`, endpoint: server.endpoint, storage, [Symbol.asyncDispose]: () => server.close() };
}
