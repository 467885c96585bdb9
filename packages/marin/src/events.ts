/** What happens during a run. `--json` prints each as one line with the field `time` (ISO 8601) added. */
export type ExperimentEvent =
  | RunStartedEvent
  | PlanEvent
  | JobEvent
  | StepStartedEvent
  | ProgressEvent
  | MessageEvent
  | MetricsEvent
  | OutputEvent
  | StepFinishedEvent
  | ResultEvent
  | ErrorEvent;

/** The run's steps are known and about to start. */
export interface RunStartedEvent {
  readonly event: "run-started";
  readonly experiment: string;
  /** Name of the run's record, `<prefix>/runs/<run>.json`. */
  readonly run: string;
  /** Name of the cluster whose jobs the steps are; null: they run in this process. */
  readonly cluster: string | null;
  /** All options, defaults filled in. */
  readonly options: unknown;
  /** Absolute path of the store. */
  readonly prefix: string;
  /** Step names in the order in which they run. */
  readonly steps: readonly string[];
}

/** What would run, why and where; the answer to `--dry-run`. */
export interface PlanEvent {
  readonly event: "plan";
  readonly experiment: string;
  readonly prefix: string;
  readonly cluster: string | null;
  readonly steps: readonly StepPlan[];
}

/** What would become of one step. */
export interface StepPlan {
  readonly step: string;
  /** "cached": the store has it. */
  readonly action: "cached" | "run";
  /** Why. */
  readonly reason: string;
  readonly fingerprint: string;
  /** Absolute path where the artifact is, or would be. */
  readonly directory: string;
  /** Processors that the step would occupy. */
  readonly cpu: number;
}

/** Where the job of a step stands. */
export interface JobEvent {
  readonly event: "job";
  readonly step: string;
  /** Id of the job within its cluster. */
  readonly job: string;
  readonly state: string;
  /** Process that runs it, once there is one. */
  readonly pid?: number;
  /** Why it waits, while it does. */
  readonly pendingReason?: string;
}

/** A step that was not in the store starts, or continues an interrupted attempt. */
export interface StepStartedEvent {
  readonly event: "step-started";
  readonly step: string;
  readonly fingerprint: string;
  /** Why it runs: "no artifact", "forced", ... */
  readonly reason: string;
  /** Whether files of an interrupted attempt are there to continue from. */
  readonly resumed: boolean;
}

/** How far a step is. At most one each second for a step, and the last one of each step. */
export interface ProgressEvent {
  readonly event: "progress";
  readonly step: string;
  readonly done: number;
  readonly total?: number;
  readonly unit: string;
  readonly detail?: string;
  /** Estimated from the speed of this attempt; absent at first and where the total is unknown. */
  readonly secondsLeft?: number;
}

/** Something people should read. */
export interface MessageEvent {
  readonly event: "message";
  readonly step: string;
  readonly message: string;
}

/** Numbers that a step measured. */
export interface MetricsEvent {
  readonly event: "metrics";
  readonly step: string;
  readonly metrics: Readonly<Record<string, number>>;
}

/** A line that a step's process printed, rather than said through its context. */
export interface OutputEvent {
  readonly event: "output";
  readonly step: string;
  readonly stream: "stdout" | "stderr";
  readonly line: string;
}

/** A step's artifact is in the store. */
export interface StepFinishedEvent {
  readonly event: "step-finished";
  readonly step: string;
  /** True when the store already had it and nothing ran. */
  readonly cached: boolean;
  readonly fingerprint: string;
  /** Content digest of the artifact. */
  readonly digest: string;
  /** Absolute path of the artifact's files. */
  readonly directory: string;
  /** Seconds that this attempt took; 0 when cached. */
  readonly seconds: number;
  readonly result: unknown;
}

/** The run is complete. */
export interface ResultEvent {
  readonly event: "result";
  readonly experiment: string;
  readonly seconds: number;
  /** What each step returned, by step name. */
  readonly results: Readonly<Record<string, unknown>>;
  /** What people read at the end, the lines of each step in order. */
  readonly lines: readonly string[];
}

/** The run ended early. */
export interface ErrorEvent {
  readonly event: "error";
  /** Stable code; `MARIN_INTERRUPTED` when the user stopped the run. */
  readonly code: string;
  readonly message: string;
  readonly exitCode: number;
  /** The step that failed, when it was in one. */
  readonly step?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}
