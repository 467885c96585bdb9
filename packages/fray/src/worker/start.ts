import { spawn, type ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { MessageChannel, Worker } from "node:worker_threads";
import { MarinError, portTransport, processTransport, type Transport } from "@marin/ducky";
import { portChannel, processChannel, type ActorChannel } from "../actors/channel.js";
import { moduleOnLoad } from "../entry.js";
import { parentConnection } from "../shared.js";
import { launch } from "./launch.js";
import { type LineSink, readLines, Tail } from "./lines.js";

/** How a worker ended. */
export interface WorkerExit {
  /** Exit code; null when a signal ended it. */
  readonly code: number | null;
  /** The signal that ended it; null when none did. */
  readonly signal: NodeJS.Signals | null;
  /** The last lines it wrote to its standard error, at most 40. */
  readonly stderrTail: string;
}

/** What a worker is started with, of either kind. */
export interface StartOptions {
  readonly kind: "process" | "thread";
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly detached: boolean;
  readonly onStdout: LineSink;
  readonly onStderr: LineSink;
}

/** A process or thread that has been started. */
export interface Started {
  readonly pid: number | undefined;
  readonly transport: Transport;
  /** For calls to its actors, beside the transport. */
  readonly actorChannel: ActorChannel;
  /** Fulfilled when it has ended and all it has written has been read. */
  readonly exited: Promise<WorkerExit>;
  /** Asks it to end, where that can be refused. */
  terminate(): void;
  /** Ends it, and with a process that leads a group the group. */
  kill(): void;
}

/** How long output may still come from children of a worker that has ended itself. */
const outputGraceMs = 500;

/**
 * Starts a process or a thread that runs `main.ts`.
 *
 * @throws MarinError FRAY_RECURSIVE_START where each worker would start others, without end
 */
export function startWorker(options: StartOptions): Started {
  const module = parentConnection() === undefined ? undefined : moduleOnLoad();
  if (module !== undefined) {
    throw new MarinError(
      "FRAY_RECURSIVE_START",
      `The module ${module} starts workers at its top level, and "${options.name}" would be started by each worker that imports it: move the functions that workers import to a module of their own.`,
      { data: { module, name: options.name } },
    );
  }
  return options.kind === "process" ? startProcess(options) : startThread(options);
}

function startProcess({ name, env, detached, onStdout, onStderr }: StartOptions): Started {
  const { main, execArgv } = launch();
  const child = spawn(process.execPath, [...execArgv, fileURLToPath(main), name, String(process.pid), detached ? "group" : "member"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    serialization: "advanced",
    detached,
  });
  const { stdout, stderr } = child as ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };
  const { tail, ended } = readOutput(stdout, stderr, onStdout, onStderr);
  const { pid } = child;
  /** With a group, also after its leader has ended: its children are the worker's as well. */
  const signalGroup = (signal: NodeJS.Signals): void => {
    if (!detached || pid === undefined) {
      child.kill(signal);
      return;
    }
    try {
      process.kill(-pid, signal);
    } catch {
      // The group is gone.
    }
  };
  const exit = new Promise<Omit<WorkerExit, "stderrTail">>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", (error) => {
      tail.add(error.message);
      // Where it could not be started there will be no exit.
      if (pid === undefined) resolve({ code: 1, signal: null });
    });
  });
  const exited = exit.then(async ({ code, signal }) => {
    if (detached) signalGroup("SIGKILL");
    await Promise.race([ended, outputGrace()]);
    stdout.destroy();
    stderr.destroy();
    return { code, signal, stderrTail: tail.text() };
  });
  return {
    pid,
    transport: processTransport(child),
    actorChannel: processChannel(child),
    exited,
    terminate: () => {
      signalGroup("SIGTERM");
    },
    kill: () => {
      signalGroup("SIGKILL");
    },
  };
}

function startThread({ name, env, onStdout, onStderr }: StartOptions): Started {
  const { main, typescript } = launch();
  const { port1, port2 } = new MessageChannel();
  const actors = new MessageChannel();
  const code =
    typescript === undefined
      ? `import(${JSON.stringify(main.href)})`
      : `import(${JSON.stringify(typescript)}).then(({ register }) => { register(); return import(${JSON.stringify(main.href)}); })`;
  const thread = new Worker(`${code}.catch((error) => { setImmediate(() => { throw error; }); });`, {
    eval: true,
    name,
    env: { ...process.env, ...env },
    stdout: true,
    stderr: true,
    workerData: { port: port2, actorPort: actors.port2 },
    transferList: [port2, actors.port2],
  });
  const { tail, ended } = readOutput(thread.stdout, thread.stderr, onStdout, onStderr);
  thread.on("error", (error: unknown) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    for (const line of text.split("\n")) {
      tail.add(line);
      onStderr(line, false);
    }
  });
  const kill = (): void => void thread.terminate();
  return {
    pid: undefined,
    transport: portTransport(port1),
    actorChannel: portChannel(actors.port1),
    // Not with once(): an uncaught error comes before the exit.
    exited: new Promise<number>((resolve) => thread.once("exit", resolve)).then(async (exitCode) => {
      await Promise.race([ended, outputGrace()]);
      return { code: exitCode, signal: null, stderrTail: tail.text() };
    }),
    terminate: kill,
    kill,
  };
}

/** Where this process was busy for longer than the grace, what has been written is still read: two rounds of the event loop empty a pipe. */
function outputGrace(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => setImmediate(() => setImmediate(resolve)), outputGraceMs).unref();
  });
}

function readOutput(stdout: Readable, stderr: Readable, onStdout: LineSink, onStderr: LineSink): { readonly tail: Tail; readonly ended: Promise<unknown> } {
  const tail = new Tail();
  readLines(stdout, onStdout);
  readLines(stderr, (line, goesOn) => {
    tail.add(line);
    onStderr(line, goesOn);
  });
  const closed = (stream: Readable): Promise<void> => new Promise((resolve) => stream.once("close", () => resolve()));
  return { tail, ended: Promise.all([closed(stdout), closed(stderr)]) };
}
