import { MarinError } from "@marin/ducky";
import { type Clock, systemClock } from "../time/clock.js";
import { backoff } from "../time/retry.js";
import { changed } from "./changed.js";

/** A write that a server makes on a condition. */
export interface ConditionalWrite {
  /** For messages. */
  readonly path: string;
  /** The version that has to be there; undefined: nothing. */
  readonly expected: string | undefined;
  /** How often to try again. */
  readonly maxRetries: number;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
  /** Asks once, without tries of its own. Returns the new version. */
  readonly attempt: () => Promise<string>;
  /** What an error says: the condition does not hold; nothing was done, it may pass; nothing is known, it may pass; it will not pass. */
  readonly judge: (error: unknown) => "refused" | "not-done" | "unknown" | "final";
  /** What is there now, and whether this very write made it; undefined: nothing. */
  readonly current: () => Promise<{ readonly version: string; readonly mine: boolean } | undefined>;
  /** An error as a MarinError. */
  readonly translate: (error: unknown) => unknown;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * Makes the write, and finds out after a lost answer whether it took place: the object carries the mark of the write that made it.
 *
 * @throws MarinError RIGGING_CHANGED when the condition does not hold; what `translate` gives, with `data.mayHaveBeenWritten`
 */
export async function writeConditionally(write: ConditionalWrite): Promise<string> {
  const { path, expected, maxRetries, signal, clock = systemClock } = write;
  const waits = backoff();
  let unknown = false;
  for (let tries = 0; ; tries += 1) {
    try {
      return await write.attempt();
    } catch (error) {
      signal?.throwIfAborted();
      const judged = write.judge(error);
      if (judged === "final") throw write.translate(error);
      unknown ||= judged === "unknown";
      if (judged === "refused" || tries >= maxRetries) {
        const found = unknown ? await write.current().catch(() => undefined) : undefined;
        if (found?.mine === true) return found.version;
        if (judged === "refused") throw changed(path, { expected, found: found?.version, mayHaveBeenWritten: unknown });
        const told = write.translate(error);
        throw told instanceof MarinError ? new MarinError(told.code, told.message, { data: { ...told.data, mayHaveBeenWritten: unknown } }) : told;
      }
      await clock.sleep(waits.next().value, signal);
    }
  }
}
