import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { MarinError } from "../platform.js";
import type { ExecEvent } from "./protocol.js";

/** What waits for a slow reader before the command's outputs are no longer read. */
const maxWaitingCharacters = 2 ** 20;

/**
 * Runs a command beside a task, in a process group of its own, which ends with the reading.
 *
 * @param argv - program and arguments
 * @param env - variables beside the worker's
 * @param directory - where it runs. Default: where the worker does
 * @param signal - ends it
 * @param timeoutMs - longest run. Default no limit
 */
export async function* runBeside(argv: readonly string[], env: Readonly<Record<string, string>>, directory: string | undefined, signal: AbortSignal, timeoutMs?: number): AsyncGenerator<ExecEvent, void, void> {
  const [program = "", ...args] = argv;
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"], detached: true, ...(directory === undefined ? {} : { cwd: directory }) });
  const events: ExecEvent[] = [];
  let waiting = 0;
  let failure: Error | undefined;
  let closed = false;
  let wake: () => void = () => undefined;
  const end = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // Gone.
    }
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs);
  signal.addEventListener("abort", end, { once: true });
  for (const source of ["stdout", "stderr"] as const) {
    const decoder = new StringDecoder("utf8");
    child[source].on("data", (chunk: Buffer) => {
      const text = decoder.write(chunk);
      events.push({ type: "output", source, text });
      waiting += text.length;
      if (waiting > maxWaitingCharacters) child[source].pause();
      wake();
    });
  }
  child.once("error", (cause) => {
    failure = new MarinError("IRIS_NO_PROGRAM", `The program ${program} cannot be started: ${cause.message}.`, { data: { program }, cause });
    closed = true;
    wake();
  });
  child.once("close", (code, killed) => {
    events.push({ type: "exit", code, signal: killed });
    closed = true;
    wake();
  });
  try {
    for (;;) {
      const event = events.shift();
      if (event !== undefined) {
        if (event.type === "output" && (waiting -= event.text.length) <= maxWaitingCharacters) for (const source of ["stdout", "stderr"] as const) child[source].resume();
        yield event;
      } else if (failure !== undefined) {
        throw failure;
      } else if (closed) {
        return;
      } else {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    end();
  }
}
