import type { Connection } from "@marin/ducky";
import { MarinError } from "@marin/rigging";

/** Milliseconds between looks at whether an answer has come that the process waits for. */
const ANSWER_POLL_MS = 200;

/**
 * Waits for a promise in a worker process, and for what would otherwise leave it unsettled for good: an error that nothing catches, a rejected promise
 * that nothing awaits, and the end of all work while the promise still waits. The channel to the parent alone is no work, unless an answer
 * is to come through it.
 *
 * @param connection - the connection to the parent; undefined outside of a worker process
 * @throws what the promise rejects with; the uncaught error; MarinError `MARIN_STALLED`
 */
export async function untilSettledOrLost<T>(promise: Promise<T>, connection: Pick<Connection, "pendingCalls"> | undefined): Promise<T> {
  let stop = (): void => undefined;
  const lost = new Promise<never>((_resolve, reject) => {
    const onError = (error: unknown): void => {
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    const onIdle = (): void => {
      if (connection !== undefined && connection.pendingCalls > 0) setTimeout(() => undefined, ANSWER_POLL_MS);
      else onError(new MarinError("MARIN_STALLED", "the step waits for a promise that nothing is left to settle"));
    };
    process.on("uncaughtException", onError);
    process.on("beforeExit", onIdle);
    process.channel?.unref();
    stop = () => {
      process.off("uncaughtException", onError);
      process.off("beforeExit", onIdle);
      process.channel?.ref();
    };
  });
  try {
    return await Promise.race([promise, lost]);
  } finally {
    stop();
  }
}
