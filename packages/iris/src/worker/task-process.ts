import { randomUUID } from "node:crypto";
import { FrayWorker, type WorkerExit, entry } from "@marin/fray";
import { redactor } from "@marin/rigging";
import type { IrisApi } from "../client/iris-api.js";
import { serveIrisApi } from "../client/iris-service.js";
import { MarinError, isMarinError } from "../platform.js";
import type { AttemptAnswer, AttemptStart, prepareAttempts, runAttempt } from "../runtime/attempt-main.js";
import { type WireFailure, failureToWire } from "../runtime/failure.js";
import { type TaskEvent, controlService, taskEventSchema, taskService } from "../runtime/task-service.js";
import { OpenLine } from "./open-line.js";

/** Hears what an attempt says while it runs. */
export interface TaskSink {
  reported(events: readonly TaskEvent[]): void;
  printed(source: "stdout" | "stderr", line: string): void;
}

/** How a run ended: with an answer, or with the process. */
export type TaskEnd = AttemptAnswer | { readonly kind: "lost"; readonly exit: WorkerExit };

/** A process that runs attempts, one at a time. */
export interface TaskProcess {
  readonly pid: number;
  /** Fulfilled when neither it nor anything of its process group runs any more. */
  readonly exited: Promise<WorkerExit>;
  /**
   * Runs an attempt. Never rejects; all that it has reported and printed has been passed on when it settles.
   *
   * @param api - what it may ask of the controller
   */
  run(start: Omit<AttemptStart, "marker">, sink: TaskSink, api: IrisApi): Promise<TaskEnd>;
  /** Aborts what it runs; TERM for its group after the grace, KILL a second later. */
  stop(failure: WireFailure, graceMs: number): void;
  /** Ends it and its group at once. */
  kill(): void;
  /** Ends it, and what is left of its group. */
  end(): Promise<WorkerExit>;
}

/** What a process is started with. */
export interface TaskProcessOptions {
  /** Shown in the command line. */
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Whether to load now what its first attempt will need. */
  readonly prepare: boolean;
}

/** How long a process may take to end once its attempt has. */
const exitMs = 1_000;

/** How long outputs may take to say that nothing more comes: a task may have closed them. */
const markerMs = 1_000;

const attemptMain = new URL(import.meta.url.endsWith(".ts") ? "../runtime/attempt-main.ts" : "../runtime/attempt-main.js", import.meta.url);

/**
 * Starts a process, the head of a process group.
 *
 * @throws MarinError FRAY_WORKER_LOST when it does not start; the signal's reason
 */
export async function startTaskProcess({ name, env, signal, prepare }: TaskProcessOptions): Promise<TaskProcess> {
  let printed: (source: "stdout" | "stderr", line: string, goesOn: boolean) => void = () => undefined;
  const worker = await FrayWorker.start({
    kind: "process",
    name,
    detached: true,
    env,
    onStdout: (line, goesOn) => printed("stdout", line, goesOn),
    onStderr: (line, goesOn) => printed("stderr", line, goesOn),
    signal,
  });
  const process = new FrayTaskProcess(worker);
  printed = (source, line, goesOn) => process.printed(source, line, goesOn);
  if (prepare) await worker.call(entry<typeof prepareAttempts>(attemptMain, "prepareAttempts"), []);
  return process;
}

interface Run {
  readonly attemptUid: string;
  readonly marker: string;
  readonly sink: TaskSink;
  readonly api: IrisApi;
  readonly lines: Readonly<Record<"stdout" | "stderr", OpenLine>>;
  readonly open: Set<"stdout" | "stderr">;
  readonly drained: () => void;
}

class FrayTaskProcess implements TaskProcess {
  readonly pid: number;
  readonly #worker: FrayWorker;
  #run: Run | undefined;

  constructor(worker: FrayWorker) {
    this.#worker = worker;
    this.pid = worker.pid ?? 0;
    worker.connection.serve(taskService, {
      report: ({ attemptUid, events }) => {
        // In a warm process something of an earlier attempt may still be at work.
        if (this.#run?.attemptUid === attemptUid) this.#run.sink.reported(events);
        return null;
      },
    });
    serveIrisApi(worker.connection, this.#currentApi());
  }

  get exited(): Promise<WorkerExit> {
    return this.#worker.exited;
  }

  printed(source: "stdout" | "stderr", part: string, goesOn: boolean): void {
    const run = this.#run;
    if (run === undefined) return;
    const line = run.lines[source].take(part, goesOn);
    if (line === "" && goesOn) return;
    const end = line.indexOf(run.marker);
    if (end < 0) return run.sink.printed(source, line);
    // What it printed before had no line end.
    if (end > 0) run.sink.printed(source, line.slice(0, end));
    const rest = line.slice(end + run.marker.length);
    if (rest !== "") {
      const event = reportIn(rest);
      // Nothing that a task writes may stop its worker: what something else has written into the middle of it is shown as it is.
      return event === undefined ? run.sink.printed(source, rest) : run.sink.reported([event]);
    }
    run.open.delete(source);
    if (run.open.size === 0) run.drained();
  }

  async run(start: Omit<AttemptStart, "marker">, sink: TaskSink, api: IrisApi): Promise<TaskEnd> {
    const marker = `\u0001${randomUUID()}`;
    const drained = new Promise<void>((resolve) => {
      this.#run = { attemptUid: start.attemptUid, marker, sink, api, lines: { stdout: new OpenLine(redactor), stderr: new OpenLine(redactor) }, open: new Set(["stdout", "stderr"]), drained: resolve };
    });
    const end = await this.#call({ ...start, marker });
    if (end.kind !== "lost") await Promise.race([drained, this.#worker.exited, timeout(markerMs)]);
    this.#run = undefined;
    return end;
  }

  stop(failure: WireFailure, graceMs: number): void {
    // It may be gone already, or too busy to answer: the time it is given sees to that.
    this.#worker.connection
      .client(controlService)
      .abort({ reason: failure })
      .catch(() => undefined);
    void this.#worker.stop({ graceMs });
  }

  kill(): void {
    this.#worker.kill();
  }

  end(): Promise<WorkerExit> {
    return this.#worker.stop({ graceMs: exitMs });
  }

  async #call(start: AttemptStart): Promise<TaskEnd> {
    try {
      return await this.#worker.call(entry<typeof runAttempt>(attemptMain, "runAttempt"), [start]);
    } catch (error) {
      const gone = isMarinError(error, "FRAY_WORKER_LOST") || isMarinError(error, "FRAY_WORKER_STOPPED");
      return gone ? { kind: "lost", exit: await this.#worker.exited } : { kind: "threw", failure: failureToWire(error) };
    }
  }

  /** What the attempt of the moment may ask. */
  #currentApi(): IrisApi {
    return new Proxy({} as IrisApi, {
      get: (_target, method) => (input: never, options: never) => {
        if (this.#run === undefined) throw new MarinError("IRIS_PARENT_ENDED", "The attempt that asks has ended.");
        return (this.#run.api[method as keyof IrisApi] as (input: never, options: never) => unknown)(input, options);
      },
    });
  }
}

/** The report that stands behind a marker; undefined where it is none. */
function reportIn(text: string): TaskEvent | undefined {
  try {
    return taskEventSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function timeout(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}
