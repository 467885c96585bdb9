import { spawn, type ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { MarinError } from "./errors.js";

/** How long the last of a program's output may take to arrive. */
const outputGraceMs = 200;

/** Characters of what a program said on its error output that an error repeats. */
const tailCharacters = 1_000;

/**
 * Runs a program and ends it, with all it has started, when standard input ends: also when whoever holds the other end is killed. $0 is the
 * grace in seconds. The inner shell ignores the TERM that it sends to the whole group, to send a KILL after it.
 */
const guard = `
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
(trap '' TERM; read -r _ <&3; kill -TERM 0; sleep "$0"; kill -KILL 0) </dev/null >/dev/null 2>&1 &
guard=$!
trap : TERM INT
while :; do
  wait "$child"; status=$?
  kill -0 "$child" 2>/dev/null || break
done
kill -KILL "$guard" 2>/dev/null
exit "$status"
`;

/** What to run. */
export interface ChildCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Milliseconds that it may take to end when asked to. */
  readonly graceMs: number;
  /** Takes what the program prints, line by line. */
  readonly onLine?: (line: string) => void;
}

/** A program in a process group of its own, that ends with this process whatever becomes of it. */
export class ChildGroup {
  /** Fulfilled when the program has ended: how, for people. */
  readonly ended: Promise<string>;
  readonly #process: ChildProcess;
  readonly #program: string;
  readonly #graceMs: number;
  #tail = "";

  constructor({ program, args, env, graceMs, onLine }: ChildCommand) {
    this.#program = program;
    this.#graceMs = graceMs;
    this.#process = spawn("/bin/sh", ["-c", guard, String(graceMs / 1_000), program, ...args], { stdio: ["pipe", "pipe", "pipe"], detached: true, env });
    const { stdin, stdout, stderr } = this.#process;
    stdin?.on("error", () => undefined);
    stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#tail = (this.#tail + text).slice(-tailCharacters);
    });
    let line = "";
    stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (line + text).split("\n");
      line = (lines.pop() ?? "").slice(-tailCharacters);
      for (const complete of lines) onLine?.(complete);
    });
    this.ended = new Promise((resolve) => {
      this.#process.once("error", (error) => resolve(error.message));
      this.#process.once("exit", (code, signal) => {
        const tell = (): void => resolve(this.#describe(code, signal));
        // What it said last may still come; but what it has started may hold its output open for ever.
        this.#process.once("close", tell);
        setTimeout(tell, outputGraceMs);
      });
    });
  }

  /** Ends the program and all it has started: asked first, by force after the grace. */
  async stop(): Promise<void> {
    const forced = performance.now() + this.#graceMs;
    this.#signal("SIGTERM");
    while (this.#signal(0) && performance.now() < forced) await new Promise((resolve) => setTimeout(resolve, 20));
    this.#signal("SIGKILL");
    await this.ended;
  }

  /** Signals every process of the group; false when there is none left. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#process;
    if (pid === undefined) return false;
    try {
      return process.kill(-pid, signal);
    } catch {
      return false;
    }
  }

  #describe(code: number | null, signal: NodeJS.Signals | null): string {
    const said = this.#tail.trim();
    const name = signal ?? (code !== null && code > 128 ? Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0] : undefined);
    const how = code === 127 ? `${this.#program} is not on the PATH` : name === undefined ? `${this.#program} ended with status ${code ?? "unknown"}` : `${this.#program} was ended by ${name}`;
    return said === "" ? how : `${how}: ${said}`;
  }
}

/** The error of a tunnel whose program does not do what it should. */
export function tunnelFailed(program: string, why: string): MarinError {
  return new MarinError("DUCKY_TUNNEL_FAILED", `The tunnel through ${program} cannot be opened: ${why}`, { data: { program } });
}
