import { MarinError } from "@marin/rigging";

/** Milliseconds that a run has to stop by itself after the first signal. */
const STOP_WITHIN_MS = 4500;

/**
 * A signal this soon after the first is the same key press: a terminal sends it to every process of the group, and pnpm passes its own on as well.
 */
const SAME_PRESS_MS = 500;

/** Exit code of a run that the user stopped. */
export const INTERRUPTED_EXIT_CODE = 130;

/** Milliseconds between looks at whether the parent process is still there. */
const PARENT_WATCH_MS = 500;

/** Turns SIGINT and SIGTERM into an abort. */
export interface Interruption {
  readonly signal: AbortSignal;
  /** Stops listening. */
  close(): void;
}

/**
 * Listens for SIGINT and SIGTERM. The first aborts the signal with `MARIN_INTERRUPTED`; the second, or {@link STOP_WITHIN_MS} without an end,
 * calls `exit`. The end of the parent process counts as a signal when `watchParent` says so: a package manager that is told to stop may take only
 * its shell along, and the run would go on unseen. What is written is complete at any moment, so leaving at once loses at most the work since the last checkpoint.
 */
export function listenForInterrupt(exit: (code: number) => void, onInterrupt: () => void, watchParent: boolean): Interruption {
  const controller = new AbortController();
  let deadline: NodeJS.Timeout | undefined;
  let pressedAt = 0;
  const interrupt = (): void => {
    if (controller.signal.aborted) {
      if (performance.now() - pressedAt > SAME_PRESS_MS) exit(INTERRUPTED_EXIT_CODE);
      return;
    }
    pressedAt = performance.now();
    deadline = setTimeout(() => {
      exit(INTERRUPTED_EXIT_CODE);
    }, STOP_WITHIN_MS);
    onInterrupt();
    controller.abort(new MarinError("MARIN_INTERRUPTED", "interrupted"));
  };
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (!watchParent || process.ppid === parent) return;
    clearInterval(watch);
    interrupt();
  }, PARENT_WATCH_MS).unref();
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  return {
    signal: controller.signal,
    close(): void {
      clearTimeout(deadline);
      clearInterval(watch);
      process.off("SIGINT", interrupt);
      process.off("SIGTERM", interrupt);
    },
  };
}
