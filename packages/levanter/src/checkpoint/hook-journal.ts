import { open, readFile, type FileHandle } from "node:fs/promises";
import { fileError, writeFileAtomic } from "@marin/iris";

interface DoneHook {
  readonly step: number;
  readonly hook: string;
}

/**
 * Remembers which of a step's hooks (validation, export) have run, so that those a crash left out run after the resume, and those that had ended do not
 * run again. A checkpoint records what is still due at its step (`pending`); the journal, a file of JSON lines beside it, what was done since.
 *
 * One that ended in the very moment of the crash, before its line was on the disk, does run again.
 */
export class HookJournal {
  readonly #path: string;
  readonly #file: FileHandle;
  #step: number;
  #pending: readonly string[];

  private constructor(path: string, file: FileHandle, step: number, pending: readonly string[]) {
    this.#path = path;
    this.#file = file;
    this.#step = step;
    this.#pending = pending;
  }

  /**
   * Opens the journal of a run that goes on after `step`. Lines of other steps are removed: earlier ones are over, later ones will be made again.
   *
   * @param path - the file, made where it is missing
   * @param step - step of the checkpoint that the run goes on from; 0 for none
   * @param due - what that checkpoint recorded as `pending`
   * @throws file errors as `writeFileAtomic` throws them
   */
  static async open(path: string, step: number, due: readonly string[]): Promise<HookJournal> {
    const text = await readFile(path, "utf8").catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
      throw fileError(error, { action: "read", path });
    });
    const done = text.split("\n").flatMap((line) => parse(line) ?? []).filter((line) => line.step === step);
    const kept = done.map(encode).join("");
    if (kept !== text) await writeFileAtomic(path, kept);
    const file = await open(path, "a").catch((error: unknown) => {
      throw fileError(error, { action: "write", path });
    });
    return new HookJournal(path, file, step, due.filter((hook) => !done.some((line) => line.hook === hook)));
  }

  /** The step's hooks that have not run yet, in order: what its checkpoint records. After `open`, those to make up for. */
  get pending(): readonly string[] {
    return this.#pending;
  }

  /** A step is finished, and these hooks are due. */
  begin(step: number, due: readonly string[]): void {
    this.#step = step;
    this.#pending = due;
  }

  /** One of the step's hooks has ended. Its line is on the disk when this returns. */
  async done(hook: string): Promise<void> {
    this.#pending = this.#pending.filter((name) => name !== hook);
    try {
      await this.#file.appendFile(encode({ step: this.#step, hook }));
      await this.#file.sync();
    } catch (error) {
      throw fileError(error, { action: "write", path: this.#path });
    }
  }

  /** Closes the file. */
  async close(): Promise<void> {
    await this.#file.close();
  }
}

function encode(line: DoneHook): string {
  return `${JSON.stringify({ step: line.step, hook: line.hook })}\n`;
}

/** A line that a crash has cut short says nothing. */
function parse(line: string): DoneHook | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const known = typeof value === "object" && value !== null && "step" in value && "hook" in value && typeof value.step === "number" && typeof value.hook === "string";
    return known ? (value as DoneHook) : undefined;
  } catch {
    return undefined;
  }
}
