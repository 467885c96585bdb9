import type { RunProvenance, Store } from "@marin/finestore";
import { MarinError, ownIdentity, type ProcessIdentity } from "@marin/rigging";

import type { ExperimentEvent } from "./events.js";
import { failedIn } from "./failed-step.js";
import { judgeStep, type InputState, type Verdict } from "./judge-step.js";
import type { PlannedStep } from "./plan.js";
import { readArtifact } from "./produce-step.js";
import { ProgressMeter } from "./progress-meter.js";
import type { RunRecorder } from "./run-record.js";
import type { Artifact } from "./step.js";
import type { StepRunner } from "./step-runner.js";

/** What {@link RunningSteps} works with. */
export interface RunningStepsOptions {
  readonly store: Store;
  readonly runner: StepRunner;
  readonly recorder: RunRecorder;
  readonly provenance: RunProvenance;
  readonly workingDirectory: string;
  readonly signal: AbortSignal;
  readonly onEvent: (event: ExperimentEvent) => void;
  /** Steps that run at the same time at most. */
  readonly concurrency: number;
  /** Names of the steps to run although the store has them. */
  readonly forced: ReadonlySet<string>;
  /** The process that this one works for. */
  readonly onBehalfOf?: ProcessIdentity | undefined;
}

/** A step that has come to its artifact. */
interface Outcome {
  readonly artifact: Artifact<unknown>;
  readonly ran: boolean;
}

/** Brings steps to their artifacts: each as soon as its inputs are there and there is room. The first failure stops the others. */
export class RunningSteps {
  readonly #options: RunningStepsOptions;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #outcomes = new Map<string, Promise<Outcome>>();
  readonly #waiting: (() => void)[] = [];
  /** Steps that have begun to run. */
  readonly #begun = new Set<string>();
  /** The error of the first step that was stopped before it began. */
  #stoppedWaiting: (() => Error) | undefined;
  #turn: Promise<void> = Promise.resolve();
  #free: number;
  #failure: Error | undefined;

  constructor(options: RunningStepsOptions) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
    this.#free = options.concurrency;
  }

  /**
   * Runs the steps to their end, or to that of the first that fails; then none is running any more.
   *
   * @param steps - every step after its inputs
   */
  async all(steps: readonly PlannedStep[]): Promise<Record<string, Artifact<unknown>>> {
    for (const planned of steps) this.#outcomes.set(planned.name, this.#one(planned));
    const settled = await Promise.allSettled(this.#outcomes.values());
    const failure = this.#failure ?? this.#stoppedWaiting?.();
    if (failure !== undefined) throw failure;
    return Object.fromEntries(settled.flatMap((outcome) => (outcome.status === "fulfilled" ? [[outcome.value.artifact.step, outcome.value.artifact]] : [])));
  }

  async #one(planned: PlannedStep): Promise<Outcome> {
    const { name } = planned;
    // A failed input has been told of already.
    const inputs = Object.fromEntries(await Promise.all(Object.entries(planned.inputs).map(async ([role, step]) => [role, await (this.#outcomes.get(step) as Promise<Outcome>)] as const)));
    try {
      return await this.#provide(planned, inputs);
    } catch (thrown) {
      const stopped = this.#signal.aborted;
      this.#options.recorder.step({ step: name, state: stopped ? "stopped" : "failed" });
      if (stopped && !this.#begun.has(name)) {
        // It only waited: what was stopped is the step that ran, which takes longer to end.
        this.#stoppedWaiting ??= () => failedIn(name, thrown);
        throw thrown;
      }
      const error = failedIn(name, thrown);
      this.#failure ??= error;
      if (!stopped) this.#stop.abort(new MarinError("MARIN_INTERRUPTED", `stopped because step ${name} failed`));
      throw error;
    }
  }

  async #provide(planned: PlannedStep, inputs: Readonly<Record<string, Outcome>>): Promise<Outcome> {
    const { store, recorder, forced, onEvent } = this.#options;
    const { name, fingerprint } = planned;
    const states = Object.entries(inputs).map(([role, { artifact, ran }]): [string, InputState] => [role, { step: artifact.step, artifact, runs: ran ? "ran" : undefined }]);
    const verdict = await this.#inTurn(async () => {
      this.#signal.throwIfAborted();
      const judged = await judgeStep(store, planned, Object.fromEntries(states), forced.has(name));
      const record = { step: name, name: planned.step.definition.name, fingerprint, reason: judged.reason };
      recorder.step(judged.action === "cached" ? { ...record, state: "cached", seconds: 0 } : { ...record, state: "running", startedAt: new Date().toISOString() });
      await recorder.save();
      return judged;
    });
    const cached = verdict.action === "cached";
    const started = verdict.action === "run" ? await this.#whenFree(() => this.#run(planned, inputs, verdict)) : performance.now();
    const stored = cached ? verdict.artifact : await store.get(planned.step.definition.name, fingerprint);
    if (stored === undefined) throw new MarinError("MARIN_STEP_LOST", `step ${name} ended and left no artifact; run the same command again`);
    const artifact = await readArtifact(name, stored);
    const seconds = cached ? 0 : Math.round(performance.now() - started) / 1000;
    const { digest } = artifact.record;
    recorder.step(cached ? { step: name, digest } : { step: name, digest, state: "finished", seconds });
    await recorder.save();
    onEvent({ event: "step-finished", step: name, cached, fingerprint, digest, directory: artifact.directory, seconds, result: artifact.result });
    return { artifact, ran: !cached };
  }

  /** Returns when it began to run: what it waited for processors does not count as its own time. */
  async #run(planned: PlannedStep, outcomes: Readonly<Record<string, Outcome>>, { replace, resume, reason }: Extract<Verdict, { action: "run" }>): Promise<number> {
    const { store, runner, recorder, provenance, workingDirectory, onEvent } = this.#options;
    const { name, fingerprint } = planned;
    const inputs = Object.fromEntries(Object.entries(outcomes).map(([role, { artifact }]) => [role, artifact]));
    const meter = new ProgressMeter(name, onEvent);
    let metrics: Readonly<Record<string, number>> = {};
    let began = performance.now();
    await runner.run(
      { planned, store, inputs, workingDirectory, replace, provenance, onBehalfOf: runner.cluster === null ? this.#options.onBehalfOf : ownIdentity() },
      {
        signal: this.#signal,
        started: () => {
          began = performance.now();
          this.#begun.add(name);
          recorder.step({ step: name, startedAt: new Date().toISOString() });
          onEvent({ event: "step-started", step: name, fingerprint, reason, resumed: resume });
        },
        progress: (progress) => {
          meter.report(progress);
        },
        emit: (event) => {
          if (event.event === "metrics") recorder.step({ step: name, metrics: (metrics = { ...metrics, ...event.metrics }) });
          onEvent(event);
        },
      },
    );
    meter.flush();
    return began;
  }

  /** One after the other, so that of steps that could start at the same time the first of the plan does. */
  #inTurn<T>(decide: () => Promise<T>): Promise<T> {
    const decided = this.#turn.then(decide);
    this.#turn = decided.then(
      () => undefined,
      () => undefined,
    );
    return decided;
  }

  /** Waits for one of the places, in the order of asking. */
  async #whenFree<T>(run: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free--;
    try {
      this.#signal.throwIfAborted();
      return await run();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
