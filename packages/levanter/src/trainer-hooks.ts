import { readFile } from "node:fs/promises";
import { MarinError, writeFileAtomic } from "@marin/iris";
import { z } from "zod";
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
  /** File that says which hooks of the last saved step have ended; written only where there are `hooks`. */
  readonly journal: string;
  /** Whether something of a step is due that is called every so many steps, and after the last. */
  readonly isDue: (step: number, every: number) => boolean;
}

const journalSchema = z.strictObject({
  step: z.int().nonnegative().describe("the step"),
  done: z.array(z.string()).describe("names of the hooks of this step that have ended"),
});

type Journal = z.output<typeof journalSchema>;

/**
 * Calls a run's hooks. A checkpoint of a step is made before the step's hooks are called, which may take long, and a run that goes on from it
 * calls those that had not ended: each at least once, in their order.
 */
export class RunHooks {
  readonly #options: RunHooksOptions;
  #journal: Journal;

  private constructor(options: RunHooksOptions, journal: Journal) {
    this.#options = options;
    this.#journal = journal;
  }

  /** Reads the journal; a damaged one counts as none. */
  static async open(options: RunHooksOptions): Promise<RunHooks> {
    return new RunHooks(options, parse(await readFile(options.journal, "utf8").catch(() => "")));
  }

  /** Calls the hooks that show progress. Throws `LEVANTER_HOOK`. */
  async report(info: StepInfo): Promise<void> {
    for (const hook of this.#options.reports) if (this.#options.isDue(info.step, hook.every)) await call(hook, info);
  }

  /** Calls the hooks of a step. Throws `LEVANTER_HOOK`; `isSaved`: the run could go on from this step, so that what has ended is written down. */
  async run(info: StepInfo, isSaved: boolean): Promise<void> {
    await this.#run(info, [], isSaved);
  }

  /** Calls the hooks of the step that a run goes on from which have not ended. Throws `LEVANTER_HOOK`. */
  async runLeft(info: StepInfo): Promise<void> {
    const { step, done } = this.#journal;
    // A journal of a later step: the hooks of this one had ended before it.
    if (step <= info.step) await this.#run(info, step === info.step ? done : [], true);
  }

  /** Writes down that all hooks of a step have ended: it is saved after them. */
  async allDone(step: number): Promise<void> {
    const due = this.#options.hooks.filter(({ every }) => this.#options.isDue(step, every));
    if (due.length > 0) await this.#write({ step, done: due.map(({ name }) => name) });
  }

  async #run(info: StepInfo, done: readonly string[], isSaved: boolean): Promise<void> {
    const ended = [...done];
    for (const hook of this.#options.hooks) {
      if (ended.includes(hook.name) || !this.#options.isDue(info.step, hook.every)) continue;
      await call(hook, info);
      ended.push(hook.name);
      if (isSaved) await this.#write({ step: info.step, done: ended });
    }
  }

  async #write(journal: Journal): Promise<void> {
    this.#journal = journal;
    await writeFileAtomic(this.#options.journal, `${JSON.stringify(journal)}\n`);
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

function parse(text: string): Journal {
  try {
    return journalSchema.parse(JSON.parse(text));
  } catch {
    return { step: 0, done: [] };
  }
}
