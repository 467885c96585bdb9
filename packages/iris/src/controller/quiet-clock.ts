import { type Clock, systemClock } from "../platform.js";

/** The system's time; its sleeps do not keep the process alive. */
export const quietClock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as throwIfAborted does: the reason is whatever the caller gave
      const stop = (): void => reject(signal?.reason);
      if (signal?.aborted === true) return stop();
      const timer = setTimeout(
        () => {
          signal?.removeEventListener("abort", abort);
          resolve();
        },
        Math.min(Math.max(0, milliseconds), 2 ** 31 - 1),
      ).unref();
      const abort = (): void => {
        clearTimeout(timer);
        stop();
      };
      signal?.addEventListener("abort", abort, { once: true });
    }),
};
