import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: { experiment: string } };
/** The command line that `pnpm experiment` stands for. */
const [program = "", ...fixedArguments] = scripts.experiment.split(" ");

/** One line of `--json`. */
export interface Event {
  readonly event: string;
  readonly step?: string;
  readonly cached?: boolean;
  readonly directory?: string;
  readonly done?: number;
  readonly total?: number;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly message?: string;
  readonly code?: string;
  readonly results?: Readonly<Record<string, unknown>>;
  readonly lines?: readonly string[];
}

/** A run of the command that has ended. */
export interface Finished {
  /** Exit code; null when a signal ended the process. */
  readonly code: number | null;
  /** Every line of standard output, parsed: a line that is no JSON fails the test. */
  readonly events: readonly Event[];
  readonly stderr: string;
}

/**
 * Runs `pnpm experiment first-lm --json` with the user in a directory, in a process group of its own. `onEvent` sees each event as it comes.
 * No file may grow beyond `fileBlocks` blocks of 512 bytes: a write past that fails as on a full disk.
 */
export function firstLm(
  directory: string,
  args: readonly string[],
  onEvent: (event: Event, child: ChildProcess) => void = () => undefined,
  fileBlocks: number | "unlimited" = "unlimited",
): Promise<Finished> {
  const child = spawn("sh", ["-c", `ulimit -f ${fileBlocks}; exec "$@"`, "sh", program, ...fixedArguments, "first-lm", "--json", ...args], {
    // As pnpm does it: in the workspace's root, saying where the user was.
    cwd: root,
    env: { ...process.env, npm_lifecycle_event: "experiment", INIT_CWD: directory },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  return new Promise((resolve, reject) => {
    const events: Event[] = [];
    let stderr = "";
    let rest = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        try {
          const event = JSON.parse(line) as Event;
          events.push(event);
          onEvent(event, child);
        } catch (error) {
          reject(new Error(`standard output holds a line that is no event: ${line}`, { cause: error }));
        }
      }
    });
    child.on("error", reject).on("close", (code) => {
      resolve({ code, events, stderr });
    });
  });
}

/** The steps that ran, as opposed to those that were cached. */
export function ran({ events }: Finished): string[] {
  return events.filter(({ event, cached }) => event === "step-finished" && cached === false).map(({ step }) => step ?? "");
}

/** The artifact's directory of a step. */
export function directoryOf({ events }: Finished, step: string): string {
  const finished = events.find((event) => event.event === "step-finished" && event.step === step);
  if (finished?.directory === undefined) throw new Error(`step ${step} did not finish`);
  return finished.directory;
}
