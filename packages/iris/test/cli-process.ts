import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { launch } from "@marin/fray";

const main = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));

/** `iris` in a process of its own. */
export interface CliProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
  written(): { readonly stdout: string; readonly stderr: string };
  /** Waits until standard output matches. */
  until(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>;
}

/** Starts `iris` with these arguments. */
export function spawnCli(args: readonly string[], { directory, variables = {} }: { readonly directory: string; readonly variables?: Readonly<Record<string, string>> }): CliProcess {
  const child = spawn(process.execPath, [...launch().execArgv, main, ...args], { cwd: directory, env: { ...process.env, NODE_OPTIONS: "", ...variables }, stdio: ["ignore", "pipe", "pipe"] });
  const text = { stdout: "", stderr: "" };
  const changed = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (part: string) => {
      text[name] += part;
      for (const wake of changed) wake();
    });
  }
  const exited = once(child, "close").then(([code]) => ({ code: code as number | null, ...text }));
  void exited.then(() => {
    for (const wake of changed) wake();
  });
  return {
    child,
    exited,
    written: () => ({ ...text }),
    until: async (pattern, timeoutMs = 120_000) => {
      const deadline = AbortSignal.timeout(timeoutMs);
      for (;;) {
        const found = pattern.exec(text.stdout);
        if (found !== null) return found;
        if (child.exitCode !== null || deadline.aborted) throw new Error(`no ${String(pattern)} from iris ${args.join(" ")} (exit ${String(child.exitCode)}):\n${text.stdout}\n${text.stderr}`);
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            changed.delete(wake);
            deadline.removeEventListener("abort", wake);
            resolve();
          };
          changed.add(wake);
          deadline.addEventListener("abort", wake, { once: true });
        });
      }
    },
  };
}
