import { redactor, toPlain } from "@marin/rigging";
import type { IrisApi } from "../client/iris-api.js";
import { type PortLease, leasePorts } from "../backends/ports.js";
import { chaosAt } from "../chaos/chaos.js";
import { MarinError } from "../platform.js";
import { type WireFailure, failureToWire } from "../runtime/failure.js";
import { plainProgress } from "../runtime/relay.js";
import type { TaskEvent } from "../runtime/task-service.js";
import { type AttemptSetup, attemptSetup } from "./attempt-setup.js";
import type { Journal } from "./journal.js";
import { type KnownProcess, attemptVariable, childrenOf, descendantsOf, killKnown, killMarked, systemOomKills } from "./processes.js";
import type { AttemptOrder, AttemptOutcome, ObservedAttempt, WorkerCause } from "./protocol.js";
import type { TaskEnd, TaskProcess, TaskSink } from "./task-process.js";

/** What a worker does for its attempts. */
export interface AttemptHost {
  /** The worker's name, for causes. */
  readonly worker: string;
  /** What the attempt may ask of the controller. */
  readonly api: (attemptUid: string) => IrisApi;
  /** A process for it: a new one, or one of the pool. */
  start(order: AttemptOrder, setup: AttemptSetup, signal: AbortSignal): Promise<TaskProcess>;
  /** Takes a process back that may run others. */
  release(setup: AttemptSetup, process: TaskProcess): Promise<void>;
  /** Numbers of graphics processors that are its own; throws when there are too few. */
  takeGpus(count: number): readonly number[];
  giveGpus(gpus: readonly number[]): void;
  /** The unpacked bundle. */
  bundle(digest: string, signal: AbortSignal): Promise<string>;
  /** What becomes of its output directory. */
  capture(attemptUid: string, order: AttemptOrder, directory: string): Promise<unknown>;
}

/** Why an attempt is to end, besides by itself. */
export type StopReason = { readonly kind: "stopped" } | { readonly kind: "failed"; readonly cause: WorkerCause };

/** Lines of standard error that an exit is told with. */
const tailLines = 40;

/** One attempt on its worker, from its order to its end. */
export class Attempt {
  readonly uid: string;
  readonly journal: Journal;
  /** Settled when nothing of it runs any more and its end is in the journal. Never rejects. */
  readonly ended: Promise<void>;
  readonly #order: AttemptOrder;
  readonly #directory: string | undefined;
  readonly #host: AttemptHost;
  readonly #starting = new AbortController();
  readonly #stderr: string[] = [];
  #process: TaskProcess | undefined;
  #setup: AttemptSetup | undefined;
  #stop: { readonly reason: StopReason; readonly failure: WireFailure; readonly graceMs: number } | undefined;
  #seen: readonly KnownProcess[] = [];
  #answered = false;
  #peakMemoryBytes = 0;
  #memoryBytes = 0;
  #timer: (() => void) | undefined;

  /**
   * @param uid - the attempt's uid
   * @param order - what to run
   * @param journal - where it is told
   * @param directory - of the attempt. Default none
   * @param host - the worker
   */
  constructor(uid: string, order: AttemptOrder, journal: Journal, directory: string | undefined, host: AttemptHost) {
    this.uid = uid;
    this.journal = journal;
    this.#order = order;
    this.#directory = directory;
    this.#host = host;
    this.ended = this.#run();
  }

  get order(): AttemptOrder {
    return this.#order;
  }

  /** The leader of its process group, while it runs. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** What a command beside it needs: directory and variables. */
  get setup(): AttemptSetup | undefined {
    return this.#process === undefined ? undefined : this.#setup;
  }

  get state(): ObservedAttempt["state"] {
    if (this.journal.ended !== undefined) return "ended";
    if (this.#stop !== undefined) return "stopping";
    return this.#process === undefined ? "starting" : "running";
  }

  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /**
   * Ends it: abort of its signal, TERM after the grace, KILL a second later. The first reason stands.
   *
   * @param reason - what its outcome will be
   * @param failure - the reason that its context sees
   * @param graceMs - 0: at once
   */
  stop(reason: StopReason, failure: WireFailure, graceMs: number): void {
    if (this.#answered || this.#stop !== undefined) {
      if (graceMs === 0) this.#process?.kill();
      return;
    }
    this.#stop = { reason, failure, graceMs };
    this.#starting.abort(new MarinError("IRIS_CANCELLED", "The attempt is to end."));
    this.#stopProcess();
  }

  /** Takes what its process group was found to hold; over its limit it ends. */
  observeMemory(bytes: number): void {
    this.#memoryBytes = bytes;
    this.#peakMemoryBytes = Math.max(this.#peakMemoryBytes, bytes);
    const limitBytes = this.#order.resources.memoryBytes;
    if (limitBytes === 0 || bytes <= limitBytes || this.#stop !== undefined || this.#answered) return;
    const message = `The attempt holds ${String(bytes)} bytes of memory and may hold ${String(limitBytes)}.`;
    this.#note("error", message);
    this.stop({ kind: "failed", cause: { kind: "oom", usedBytes: bytes, limitBytes } }, failureToWire(new MarinError("IRIS_OOM", message)), 0);
  }

  /** Takes what its directory was found to hold; over its limit it ends. */
  observeDisk(bytes: number): void {
    const limitBytes = this.#order.resources.diskBytes;
    if (limitBytes === 0 || bytes <= limitBytes || this.#stop !== undefined || this.#answered) return;
    const message = `The attempt's directory holds ${String(bytes)} bytes and may hold ${String(limitBytes)}.`;
    this.#note("error", message);
    this.stop({ kind: "failed", cause: { kind: "disk", usedBytes: bytes, limitBytes } }, failureToWire(new MarinError("IRIS_DISK", message)), 0);
  }

  async #run(): Promise<void> {
    // Not before whoever made it knows it.
    await Promise.resolve();
    const oomKills = systemOomKills();
    let ports: PortLease | undefined;
    let gpus: readonly number[] = [];
    let outcome: AttemptOutcome;
    try {
      this.journal.append({ type: "building" });
      this.#starting.signal.throwIfAborted();
      const { resources } = this.#order;
      gpus = this.#host.takeGpus(resources.device?.kind === "gpu" ? resources.device.count : 0);
      ports = await leasePorts(this.#order.ports);
      const prepared = await this.#prepare(ports, gpus);
      if ("cause" in prepared) outcome = { kind: "failed", cause: prepared.cause };
      else outcome = await this.#runIn(prepared, ports, oomKills);
    } catch (error) {
      outcome = { kind: "failed", cause: { kind: "start-failed", worker: this.#host.worker, message: messageOf(error) } };
    }
    this.#timer?.();
    this.#memoryBytes = 0;
    ports?.release();
    this.#host.giveGpus(gpus);
    const outputs = this.#directory === undefined || this.#setup?.outputs === undefined ? undefined : await this.#host.capture(this.uid, this.#order, this.#setup.outputs);
    if (!this.#answered && this.#stop !== undefined) outcome = this.#stop.reason;
    this.journal.end({ outcome, peakMemoryBytes: this.#peakMemoryBytes, ...(outputs === undefined ? {} : { outputs }) });
  }

  async #prepare(ports: PortLease, gpus: readonly number[]): Promise<AttemptSetup | { readonly cause: WorkerCause }> {
    try {
      const { bundle } = this.#order;
      const bundleDirectory = bundle === undefined ? undefined : await this.#host.bundle(bundle.digest, this.#starting.signal);
      return (this.#setup = await attemptSetup({ uid: this.uid, order: this.#order, directory: this.#directory, bundleDirectory, ports: ports.ports, gpus }));
    } catch (error) {
      return { cause: { kind: "setup-failed", message: messageOf(error) } };
    }
  }

  async #runIn(setup: AttemptSetup, ports: PortLease, oomKills: number): Promise<AttemptOutcome> {
    await chaosAt("process.start");
    const process = await this.#host.start(this.#order, setup, this.#starting.signal);
    this.#process = process;
    const children = childrenOf(process.pid);
    this.journal.append({ type: "started", pid: process.pid, ports: { ...ports.ports } });
    this.#startTimer();
    if (this.#stop !== undefined) this.#stopProcess();
    const end = await process.run({ ...setup.start, variables: setup.variables }, this.#sink(), this.#host.api(this.uid));
    // What comes after the answer no longer changes it; before it, whoever stopped it decides.
    this.#answered = this.#stop === undefined;
    const command = this.#order.work.kind === "command";
    const sound = setup.pooled && this.#answered && end.kind !== "lost" && (command || end.kind === "returned");
    if (!sound) await process.end();
    await killKnown(this.#seen);
    // What it has left behind, wherever that has gone. After a function that ended well in a warm process the children of that tell, which takes no time.
    if (!sound || command) await killMarked(attemptVariable, this.uid);
    if (sound && childrenOf(process.pid) === children) await this.#host.release(setup, process);
    else if (sound) await Promise.all([process.end(), killMarked(attemptVariable, this.uid)]);
    this.#process = undefined;
    return this.#outcomeOf(end, oomKills);
  }

  #outcomeOf(end: TaskEnd, oomKills: number): AttemptOutcome {
    if (end.kind === "returned") return { kind: "returned", value: end.value };
    return { kind: "failed", cause: this.#causeOf(end, oomKills) };
  }

  #causeOf(end: Exclude<TaskEnd, { readonly kind: "returned" }>, oomKills: number): WorkerCause {
    const stderrTail = this.#stderr.join("\n");
    if (end.kind === "threw") return { kind: "threw", failure: toPlain(end.failure, redactor) as unknown as WireFailure };
    if (end.kind === "setup-failed") return { kind: end.kind, message: redactor.redact(end.message) };
    if (end.kind === "exit") return { kind: "exit", code: end.code, stderrTail };
    const { signal, code } = end.kind === "signal" ? { signal: end.signal, code: null } : end.exit;
    const { memoryBytes } = this.#order.resources;
    const oom: WorkerCause = { kind: "oom", usedBytes: this.#peakMemoryBytes, limitBytes: memoryBytes };
    // The system's choice when memory ran out, or V8's own when its heap is full.
    if (signal === "SIGKILL" && systemOomKills() > oomKills) return oom;
    if ((signal === "SIGABRT" || code === 134) && /heap out of memory|Reached heap limit/.test(stderrTail)) return oom;
    return signal === null ? { kind: "exit", code: code ?? 1, stderrTail } : { kind: "signal", signal, stderrTail };
  }

  #sink(): TaskSink {
    return {
      reported: (events) => {
        for (const event of events) this.#report(event);
      },
      printed: (source, text) => {
        const line = redactor.redact(text);
        if (source === "stderr") {
          this.#stderr.push(line.length > 500 ? `${line.slice(0, 500)}...` : line);
          if (this.#stderr.length > tailLines) this.#stderr.shift();
        }
        this.journal.append({ type: "log", source, level: source === "stderr" ? "warn" : "info", message: line });
      },
    };
  }

  #report(event: TaskEvent): void {
    if (event.type === "log") {
      const { level, message, fields } = event;
      const named = Object.keys(fields).length === 0 ? {} : { fields: bounded(toPlain(fields, redactor) as Record<string, unknown>) };
      // In parts where it is too long for a message, as what is printed comes in parts.
      const text = redactor.redact(message);
      this.journal.append({ type: "log", source: "log", level, message: text.slice(0, maxLogText), ...named });
      for (let at = maxLogText; at < text.length; at += maxLogText) this.journal.append({ type: "log", source: "log", level, message: text.slice(at, at + maxLogText) });
    } else if (event.type === "progress") {
      this.journal.append({ type: "progress", progress: plainProgress(toPlain(event.progress, redactor) as unknown as typeof event.progress) });
    } else {
      const { values, step } = event;
      this.journal.append({ type: "metrics", values, ...(step === undefined ? {} : { step }) });
    }
  }

  #note(level: "warn" | "error", message: string): void {
    this.journal.append({ type: "log", source: "iris", level, message });
  }

  #startTimer(): void {
    const { timeoutMs } = this.#order;
    if (timeoutMs === undefined) return;
    this.#timer = startTimer(timeoutMs, () => {
      const error = new MarinError("IRIS_TIMEOUT", `The attempt ran longer than its timeoutMs of ${String(timeoutMs)}.`, { data: { timeoutMs } });
      this.stop({ kind: "failed", cause: { kind: "timeout", timeoutMs } }, failureToWire(error), timeoutGraceMs);
    });
  }

  #stopProcess(): void {
    const { failure, graceMs } = this.#stop ?? {};
    if (this.#process === undefined || failure === undefined || graceMs === undefined) return;
    // While its processes have their parents: one that has left the group and its environment is known by nothing else later.
    this.#seen = descendantsOf([this.#process.pid]);
    if (graceMs === 0) this.#process.kill();
    else this.#process.stop(failure, graceMs);
  }
}

/** Characters of a logged message, or of its fields, at most. */
const maxLogText = 2 ** 20;

/** From the abort to TERM where the time is up. */
const timeoutGraceMs = 4_000;

/** Fields that fit into a message, or what they were. */
function bounded(fields: Record<string, unknown>): Record<string, unknown> {
  const { length } = JSON.stringify(fields);
  return length <= maxLogText ? fields : { "left out": `fields of ${String(length)} characters` };
}

function messageOf(error: unknown): string {
  return redactor.redact(error instanceof Error ? error.message : String(error));
}

/** Calls back after the time, also where it is longer than one timer can wait; gives what stops it. */
function startTimer(milliseconds: number, expired: () => void): () => void {
  const longest = 2 ** 31 - 1;
  let rest = milliseconds;
  let timer: NodeJS.Timeout;
  const next = (): void => {
    const wait = Math.min(rest, longest);
    rest -= wait;
    timer = setTimeout(rest > 0 ? next : expired, wait);
  };
  next();
  return () => clearTimeout(timer);
}
