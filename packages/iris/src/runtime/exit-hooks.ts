import type { Logger } from "../platform.js";

/** Clean-up that a task asked for, run once when it ends, last asked first. */
export class ExitHooks {
  readonly #hooks: (() => void | Promise<void>)[] = [];
  #ran: Promise<void> | undefined;

  /** Asks for clean-up. After the end it is too late, and the function runs at once. */
  add(hook: () => void | Promise<void>): void {
    if (this.#ran === undefined) this.#hooks.push(hook);
    else this.#ran = this.#ran.then(hook).catch(() => undefined);
  }

  /**
   * Runs what was asked for; a second call waits for the first. What a function throws is logged and stops none of the others.
   *
   * @param log - where failures go
   */
  run(log: Logger): Promise<void> {
    return (this.#ran ??= this.#runAll(log));
  }

  async #runAll(log: Logger): Promise<void> {
    for (let hook = this.#hooks.pop(); hook !== undefined; hook = this.#hooks.pop()) {
      try {
        await hook();
      } catch (error) {
        log.error("a clean-up function failed", { error });
      }
    }
  }
}
