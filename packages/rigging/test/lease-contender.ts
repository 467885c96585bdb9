// One of several processes that contend for a lease; tells what happens as lines of JSON.
import { isMarinError } from "@marin/ducky";
import { readFenced, writeFenced } from "../src/leases/fenced.js";
import { withLease } from "../src/leases/lease.js";
import { createStorage } from "../src/storage/create.js";

const { base, endpoint, ttlMs, terms, pauseEvery } = JSON.parse(process.argv[2] ?? "{}") as { base: string; endpoint: string; ttlMs: number; terms: number; pauseEvery: number };
const storage = createStorage(base.startsWith("gs:") ? { gcs: { endpoint } } : base.startsWith("s3:") ? { s3: { endpoint, credentials: "anonymous" } } : {});
const [lease, ledger] = [`${base}/lease`, `${base}/ledger`];
const tell = (event: string, fields: object): void => void process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true })));
}

async function newestToken(): Promise<number> {
  return (await readFenced(ledger, storage))?.token ?? 0;
}

async function work(signal: AbortSignal, token: number): Promise<number> {
  // Whoever else has the same term finds this one's mark.
  await storage.write(`${base}/terms/${String(token)}`, String(process.pid), { ifAbsent: true });
  await writeFenced(ledger, String(process.pid), token, { storage });
  tell("term", { token });
  if (token >= terms || token % pauseEvery !== 0) return token;
  // The whole process stands still, its refreshing too.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ttlMs * 1.5);
  await aborted(signal);
  tell("aborted", { token, code: (signal.reason as { code?: string }).code });
  while ((await newestToken()) <= token) await new Promise((resolve) => setTimeout(resolve, ttlMs / 20));
  const outcome = await writeFenced(ledger, "late", token, { storage }).then(
    () => "written",
    (error: unknown) => (isMarinError(error) ? error.code : String(error)),
  );
  tell("late", { token, outcome });
  return token;
}

for (let token = 0; token < terms; ) {
  try {
    token = await withLease(lease, work, { storage, ttlMs });
  } catch (error) {
    // A process that was stopped, or that had no processor for long, has lost its lease, and knows.
    if (!isMarinError(error)) throw error;
    tell("failed", { code: error.code, message: error.message });
    if (error.code !== "RIGGING_LEASE_LOST" && error.code !== "RIGGING_FENCED") break;
    token = await newestToken();
  }
}
tell("end", {});
