import { isMarinError, MarinError } from "@marin/ducky";
import type { Storage } from "../storage/storage.js";
import { type Clock, systemClock } from "../time/clock.js";
import { backoff } from "../time/retry.js";

/** The first line of an object that fenced writers share. */
const head = /^marin-fence (\d+)\n/;

/** What a fenced object holds. */
export interface FencedContent {
  /** The bytes that were written. */
  readonly content: Uint8Array;
  /** The token that they were written under. */
  readonly token: number;
}

/**
 * Reads what {@link writeFenced} wrote; undefined when there is nothing.
 *
 * @throws MarinError RIGGING_NOT_FENCED for an object that was written otherwise; errors of the storage
 */
export async function readFenced(path: string, storage: Storage): Promise<FencedContent | undefined> {
  const found = await storage.readVersioned(path);
  return found === undefined ? undefined : decode(path, found.content);
}

/**
 * Writes an object under a lease, unless a later term has written it: a holder that lost its lease and does not know it is refused.
 * The token stands in the object's first line; read it with {@link readFenced}.
 *
 * @param token - the lease's
 * @throws MarinError RIGGING_FENCED (`data.token` ours, `data.newest` the later one), RIGGING_NOT_FENCED; errors of the storage
 */
export async function writeFenced(path: string, data: Uint8Array | string, token: number, { storage, signal, clock = systemClock }: { readonly storage: Storage; readonly signal?: AbortSignal | undefined; readonly clock?: Clock }): Promise<void> {
  const content = Buffer.concat([Buffer.from(`marin-fence ${String(token)}\n`), typeof data === "string" ? Buffer.from(data, "utf8") : data]);
  const waits = backoff({ initialMs: 5, maxMs: 500 });
  for (;;) {
    const found = await storage.readVersioned(path, { signal });
    const newest = found === undefined ? 0 : decode(path, found.content).token;
    if (newest > token) throw new MarinError("RIGGING_FENCED", `Cannot write ${path} under term ${String(token)}: term ${String(newest)} of the lease has written it.`, { data: { path, token, newest } });
    try {
      await storage.writeIf(path, content, { version: found?.version, signal });
      return;
    } catch (error) {
      // Another has written in between: of an earlier term, and is replaced, or of a later one, and wins.
      if (!isMarinError(error, "RIGGING_CHANGED")) throw error;
      await clock.sleep(waits.next().value, signal);
    }
  }
}

function decode(path: string, content: Uint8Array): FencedContent {
  const [line, token] = head.exec(Buffer.from(content.subarray(0, 64)).toString("latin1")) ?? [];
  if (line !== undefined && token !== undefined) return { content: content.subarray(line.length), token: Number(token) };
  throw new MarinError("RIGGING_NOT_FENCED", `${path} was not written by writeFenced: its first line has no token. Choose another path.`, { data: { path } });
}
