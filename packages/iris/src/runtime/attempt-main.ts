import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { deserialize, serialize } from "node:v8";
import { type Entry, loadEntry, parentConnection } from "@marin/fray";
import { MarinError } from "../platform.js";
import { runInContext } from "./context.js";
import { type WireFailure, failureToWire } from "./failure.js";
import { type ServedTask, serveProcessContext } from "./process-context.js";
import type { TaskIdentity } from "./task-identity.js";
import type { TaskEvent } from "./task-service.js";

/** What a task's process is to run. */
export interface AttemptStart {
  readonly identity: TaskIdentity;
  readonly attemptUid: string;
  readonly work: { readonly kind: "entry"; readonly module: string; readonly export: string; readonly args: Uint8Array } | { readonly kind: "command"; readonly argv: readonly string[] };
  /** Shell lines to run before. */
  readonly setup: readonly string[];
  /** Where commands and functions run. Default: where the worker runs. */
  readonly directory: string | undefined;
  /** Variables for this attempt alone. */
  readonly variables: Readonly<Record<string, string>>;
  /** Stands before a report on standard output; alone on a line of both outputs it says that nothing more comes. */
  readonly marker: string;
}

/** How it ended. */
export type AttemptAnswer =
  | { readonly kind: "returned"; readonly value: Uint8Array }
  | { readonly kind: "threw"; readonly failure: WireFailure }
  | { readonly kind: "exit"; readonly code: number }
  | { readonly kind: "signal"; readonly signal: string }
  | { readonly kind: "setup-failed"; readonly message: string };

const startDirectory = process.cwd();

/** Characters of a line that surely is read as one. */
const maxReportLine = 32_768;

/** Bytes of what a function returns at most: it has to fit into a message between workers, controllers and clients. */
const maxValueBytes = 32 * 2 ** 20;

/** The attempt that this process runs; TERM asks it to clean up. */
let current: ServedTask | undefined;
let listening = false;

/** Called once in a process that waits for its first attempt: what it needs is loaded then. */
export function prepareAttempts(): void {
  if (listening) return;
  listening = true;
  // What has been printed has left this process, however that ends; and who prints faster than the worker reads, waits.
  for (const output of [process.stdout, process.stderr]) (output as unknown as { readonly _handle?: { setBlocking?(blocking: boolean): void } })._handle?.setBlocking?.(true);
  process.on("SIGTERM", () => {
    const task = current;
    if (task === undefined) process.exit(143);
    // The attempt has had its time: what it asked for at the end is all that is left to do.
    task.abort(new MarinError("IRIS_CANCELLED", "The task's process was told to end."));
    void task.finish().then(() => process.exit(143));
  });
}

/**
 * Runs an attempt in this process, inside its context. Its worker calls it here.
 *
 * @param start - what to run
 */
export async function runAttempt({ identity, attemptUid, work, setup, directory, variables, marker }: AttemptStart): Promise<AttemptAnswer> {
  const connection = parentConnection();
  if (connection === undefined) throw new MarinError("IRIS_NO_CONTROLLER", "runAttempt works only in a process that an iris worker has started.");
  prepareAttempts();
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  process.chdir(directory ?? startDirectory);
  // What goes on in a warm process must not write among what the next attempt prints.
  let over = false;
  const task = serveProcessContext(connection, identity, attemptUid, (event) => !over && writeReport(marker, event));
  current = task;
  const answer = await runInContext(task.context, async (): Promise<AttemptAnswer> => {
    try {
      if (setup.length > 0) {
        const { code, signal } = await runProgram(["/bin/sh", "-e", "-c", setup.join("\n")], task.context.signal);
        if (code !== 0) return { kind: "setup-failed", message: `The setup of the job ended with ${signal === null ? `exit code ${String(code)}` : `signal ${signal}`}: ${setup.join("; ")}` };
      }
      task.context.signal.throwIfAborted();
      return work.kind === "entry" ? await runEntry(work) : await runCommand(work.argv, task.context.signal);
    } catch (error) {
      return { kind: "threw", failure: failureToWire(error) };
    }
  });
  await task.finish();
  over = true;
  for (const [name, value] of before) {
    if (value === undefined) Reflect.deleteProperty(process.env, name);
    else process.env[name] = value;
  }
  for (const output of [process.stdout, process.stderr]) await new Promise<void>((resolve) => output.write(`${marker}\n`, () => resolve()));
  return answer;
}

/** Among what is printed, so that it is in order with that and as safe. What is too long for a line goes the other way. */
function writeReport(marker: string, event: TaskEvent): boolean {
  const line = `${marker}${JSON.stringify(event)}\n`;
  if (line.length > maxReportLine || !process.stdout.writable) return false;
  process.stdout.write(line);
  return true;
}

async function runEntry({ module, export: name, args }: Extract<AttemptStart["work"], { readonly kind: "entry" }>): Promise<AttemptAnswer> {
  const run = await loadEntry({ module, export: name } as Entry<unknown[]>);
  const result = await run(...(deserialize(args) as unknown[]));
  let value: Uint8Array;
  try {
    value = serialize(result);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MarinError("IRIS_NOT_CLONABLE", `What ${name} of ${module} returned cannot leave its process: ${why} Return plain data.`, { data: { module, export: name }, cause });
  }
  if (value.byteLength > maxValueBytes) {
    throw new MarinError("IRIS_VALUE_TOO_LARGE", `What ${name} of ${module} returned has ${String(value.byteLength)} bytes, and at most ${String(maxValueBytes)} go to the controller. Write it to storage, and return its path.`, {
      data: { module, export: name, bytes: value.byteLength, limit: maxValueBytes },
    });
  }
  return { kind: "returned", value };
}

async function runCommand(argv: readonly string[], signal: AbortSignal): Promise<AttemptAnswer> {
  const { code, signal: killed, error } = await runProgram(argv, signal);
  if (error !== undefined) return { kind: "setup-failed", message: `The program ${argv[0] ?? ""} cannot be started: ${error.message}` };
  if (killed !== null) return { kind: "signal", signal: killed };
  // A shell says so of a program that a signal has ended.
  const name = code !== null && code > 128 ? Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0] : undefined;
  if (name === "SIGKILL" || name === "SIGSEGV" || name === "SIGABRT") return { kind: "signal", signal: name };
  return code === 0 ? { kind: "returned", value: serialize(undefined) } : { kind: "exit", code: code ?? 1 };
}

/** In this process's group, so that it ends with it; it has TERM for the abort. */
async function runProgram(argv: readonly string[], signal: AbortSignal): Promise<{ readonly code: number | null; readonly signal: string | null; readonly error?: Error }> {
  const [program = "", ...args] = argv;
  const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit"] });
  const stop = (): void => void child.kill("SIGTERM");
  signal.addEventListener("abort", stop, { once: true });
  try {
    const [code, killed] = (await once(child, "exit")) as [number | null, string | null];
    return { code, signal: killed };
  } catch (error) {
    return { code: null, signal: null, error: error as Error };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
