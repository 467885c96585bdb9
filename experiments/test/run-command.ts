import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { MARK } from "./processes.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: { experiment: string } };
/** The command line that `pnpm experiment` stands for. */
const [program = "", ...fixedArguments] = scripts.experiment.split(" ");

/** One line of `--json`. */
export interface Event {
  readonly event: string;
  readonly step?: string;
  readonly steps?: readonly string[];
  readonly cached?: boolean;
  readonly digest?: string;
  readonly directory?: string;
  readonly done?: number;
  readonly total?: number;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly message?: string;
  readonly code?: string;
  readonly state?: string;
  readonly pid?: number;
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
  /** Which processes belong to the run; see `processesOf`. */
  readonly mark: string;
}

/** What {@link runCommand} is given besides its arguments. */
export interface CommandOptions {
  /** Where the user is. */
  readonly directory: string;
  /** Sees each event as it comes. */
  readonly onEvent?: (event: Event, child: ChildProcess, mark: string) => void;
  /** No file may grow beyond this many blocks of 512 bytes: a write past that fails as on a full disk. */
  readonly fileBlocks?: number | "unlimited";
}

/** Runs `pnpm experiment ... --json`, in a process group of its own. */
export function runCommand(args: readonly string[], { directory, onEvent = () => undefined, fileBlocks = "unlimited" }: CommandOptions): Promise<Finished> {
  const mark = randomUUID();
  const child = spawn("sh", ["-c", `ulimit -f ${fileBlocks}; exec "$@"`, "sh", program, ...fixedArguments, "--json", ...args], {
    // As pnpm does it: in the workspace's root, saying where the user was.
    cwd: root,
    env: { ...process.env, npm_lifecycle_event: "experiment", INIT_CWD: directory, [MARK]: mark },
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
          onEvent(event, child, mark);
        } catch (error) {
          reject(new Error(`standard output holds a line that is no event: ${line}`, { cause: error }));
        }
      }
    });
    child.on("error", reject).on("close", (code) => {
      resolve({ code, events, stderr, mark });
    });
  });
}

/** Runs `pnpm experiment first-lm --json`. */
export function firstLm(
  directory: string,
  args: readonly string[],
  onEvent: (event: Event, child: ChildProcess, mark: string) => void = () => undefined,
  fileBlocks: number | "unlimited" = "unlimited",
): Promise<Finished> {
  return runCommand(["first-lm", ...args], { directory, onEvent, fileBlocks });
}

/** The steps that ran, as opposed to those that were cached. */
export function ran({ events }: Finished): string[] {
  return events.filter(({ event, cached }) => event === "step-finished" && cached === false).map(({ step }) => step ?? "");
}

/** The content digest of each step's artifact. */
export function digestsOf({ events }: Finished): Record<string, string> {
  return Object.fromEntries(events.filter(({ event }) => event === "step-finished").map(({ step = "", digest = "" }) => [step, digest]));
}

/** The artifact's directory of a step. */
export function directoryOf({ events }: Finished, step: string): string {
  const finished = events.find((event) => event.event === "step-finished" && event.step === step);
  if (finished?.directory === undefined) throw new Error(`step ${step} did not finish`);
  return finished.directory;
}
