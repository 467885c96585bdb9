import { MarinError } from "@marin/iris";

const signals = ["SIGINT", "SIGTERM"] as const;

/** What runs now in this process: a signal is for all of it. */
const running = new Set<AbortController>();
let received: NodeJS.Signals | undefined;

/**
 * While it lives, the first Ctrl-C or SIGTERM aborts {@link Interruption.signal} instead of ending the process, so that workers are stopped and temporary
 * files removed; then the signal is sent again, to do what it would have done. A second one does it at once. Where somebody else listens
 * to a signal, what it means is theirs to say.
 */
export class Interruption implements Disposable {
  readonly #controller = new AbortController();

  constructor() {
    if (running.size === 0) for (const signal of signals) if (process.listenerCount(signal) === 0) process.on(signal, interrupt);
    running.add(this.#controller);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    running.delete(this.#controller);
    if (running.size > 0) return;
    stopListening();
    const signal = received;
    received = undefined;
    if (signal !== undefined) process.kill(process.pid, signal);
  }
}

function interrupt(signal: NodeJS.Signals): void {
  received = signal;
  stopListening();
  const reason = new MarinError("ZEPHYR_INTERRUPTED", `The execution was interrupted by ${signal}.`, { data: { signal } });
  for (const controller of running) controller.abort(reason);
}

function stopListening(): void {
  for (const signal of signals) process.off(signal, interrupt);
}
