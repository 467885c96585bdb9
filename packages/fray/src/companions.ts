import type { Connection } from "@marin/ducky";
import { shared } from "./shared.js";

/** A worker about to be started. */
export interface NewWorker {
  /** Its name. */
  readonly name: string;
  /** The variables that whoever starts it asks for. */
  readonly env: Readonly<Record<string, string>>;
}

/** What goes along with a worker. */
export interface Companion {
  /** Variables for it. Those that whoever starts it asks for win. */
  readonly env: Readonly<Record<string, string>>;
  /** Called once it has been started, before any call to it. */
  attach(worker: { readonly connection: Connection; readonly exited: Promise<unknown> }): void;
}

/**
 * Lets something go along with every worker that this thread starts from now on, such as the context of the task that starts it.
 *
 * @param name - asking again under the same name replaces what was asked before
 * @param companion - asked at each start, where it happens; undefined for a worker that goes alone
 */
export function accompanyWorkers(name: string, companion: (worker: NewWorker) => Companion | undefined): void {
  shared.companions.set(name, companion);
}

/** What goes along with a worker. */
export function companionsOf(worker: NewWorker): readonly Companion[] {
  return [...shared.companions.values()].map((companion) => companion(worker)).filter((companion) => companion !== undefined);
}
