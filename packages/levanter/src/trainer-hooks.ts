import { MarinError } from "@marin/iris";
import { HookJournal } from "./checkpoint/hook-journal.js";
import type { StepInfo } from "./step-info.js";

/** Called after steps; the next step waits for it. An error it throws ends the run. */
export type StepHook = (info: StepInfo) => void | Promise<void>;

/** A hook with its cadence. */
export interface ScheduledHook {
  /** Names it in errors, and in the journal of what has run. */
  readonly name: string;
  readonly hook: StepHook;
  /** Steps between calls, at least 1; the last step always calls. */
  readonly every: number;
}

/** What a run's hooks are made from. */
export interface RunHooksOptions {
  /** Hooks that show progress: not called again for a step that a crash has interrupted. */
  readonly reports: readonly ScheduledHook[];
  /** Hooks that make something of a step, such as an export: where a crash has kept one from ending, it runs after the run was resumed. */
  readonly hooks: readonly ScheduledHook[];
  /** File that says which hooks of the last saved step have ended; made only where there are `hooks`. */
  readonly journal: string;
  /** The step that the run goes on from; 0 for a new run. */
  readonly step: number;
  /** Names of the hooks that were due at that step and had not ended when it was saved. */
  readonly pending: readonly string[];
  /** Whether something of a step is due that is called every so many steps, and after the last. */
  readonly isDue: (step: number, every: number) => boolean;
}

/**
 * Calls a run's hooks. A checkpoint of a step is made before the step's hooks are called, which may take long, and a run that goes on from it
 * calls those that had not ended: each at least once, in their order.
 */
export class RunHooks {
  readonly #options: RunHooksOptions;
  readonly #journal: HookJournal | undefined;

  private constructor(options: RunHooksOptions, journal: HookJournal | undefined) {
    this.#options = options;
    this.#journal = journal;
  }

  /** Opens the journal. File errors are those of `HookJournal.open`. */
  static async open(options: RunHooksOptions): Promise<RunHooks> {
    const { hooks, journal, step, pending } = options;
    return new RunHooks(options, hooks.length === 0 ? undefined : await HookJournal.open(journal, step, pending));
  }

  /** Names of the last step's hooks that have not ended: what its checkpoint keeps. */
  get pending(): readonly string[] {
    return this.#journal?.pending ?? [];
  }

  /** Calls the hooks that show progress, and notes which others are due. Throws `LEVANTER_HOOK`. */
  async begin(info: StepInfo): Promise<void> {
    const due = this.#options.hooks.filter(({ every }) => this.#options.isDue(info.step, every));
    this.#journal?.begin(info.step, due.map(({ name }) => name));
    for (const hook of this.#options.reports) if (this.#options.isDue(info.step, hook.every)) await call(hook, info);
  }

  /**
   * Calls the step's hooks that have not ended. Throws `LEVANTER_HOOK`.
   *
   * @param isSaved - whether the run could go on from this step, so that each hook's end is written down
   */
  async run(info: StepInfo, isSaved: boolean): Promise<void> {
    for (const name of this.pending) {
      const hook = this.#options.hooks.find((candidate) => candidate.name === name);
      // A hook that was due before the run was resumed may be gone.
      if (hook !== undefined) await call(hook, info);
      if (isSaved) await this.#journal?.done(name);
    }
    this.#journal?.begin(info.step, []);
  }

  /** Closes the journal. */
  async close(): Promise<void> {
    await this.#journal?.close();
  }
}

async function call({ name, hook }: ScheduledHook, info: StepInfo): Promise<void> {
  try {
    await hook(info);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new MarinError("LEVANTER_HOOK", `the hook "${name}" failed after step ${String(info.step)}: ${message}`, { data: { hook: name, step: info.step }, cause });
  }
}
