import { runCommandLine } from "../src/cli/command-line.js";

/** What a command wrote, and how it ended. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as JSON lines. */
  events(): Record<string, unknown>[];
}

/** A command under way in this process. */
export interface Running {
  readonly finished: Promise<Finished>;
  /** What it wrote so far. */
  written(): { readonly stdout: string; readonly stderr: string };
  /** Presses Ctrl-C. */
  interrupt(): void;
}

/** Runs `iris` in this process, where it starts faster than in one of its own. */
export function startCli(args: readonly string[], { directory, variables = {} }: { readonly directory: string; readonly variables?: Record<string, string> }): Running {
  const text = { stdout: "", stderr: "" };
  const listeners: (() => void)[] = [];
  const finished = runCommandLine(args, {
    stdout: { write: (part) => (text.stdout += part) },
    stderr: { write: (part) => (text.stderr += part) },
    workingDirectory: directory,
    variables,
    interactive: false,
    onInterrupt: (listener) => {
      listeners.push(listener);
      return () => void listeners.splice(listeners.indexOf(listener), 1);
    },
  }).then((code): Finished => ({ code, ...text, events: () => text.stdout.trimEnd().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Record<string, unknown>) }));
  return { finished, written: () => ({ ...text }), interrupt: () => listeners.at(-1)?.() };
}
