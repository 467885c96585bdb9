import type { CurvePoint } from "../steps/loss-curve.js";
import type { Counts, ReportInputs, SourceCounts, TokenCounts } from "./inputs.js";

/** Documents that go no further, and why. */
export interface LeftOut {
  readonly reason: "unreadable" | "too short" | "in an evaluation" | "exact duplicate" | "near-duplicate";
  readonly documents: number;
  /** UTF-8 bytes, where known. */
  readonly bytes: number | undefined;
}

/** The documents at one point of their way to the model. */
export interface FunnelStage {
  readonly name: "read" | "collected" | "decontaminated" | "unique" | "kept";
  readonly documents: number;
  /** UTF-8 bytes, where known. */
  readonly bytes: number | undefined;
  /** What is left out between this stage and the next. */
  readonly leftOut: readonly LeftOut[];
}

/** The way from what was read to tokens. Parts whose step is missing are left out. */
export interface Funnel {
  readonly sources: readonly ({ readonly name: string } & SourceCounts)[];
  readonly stages: readonly FunnelStage[];
  /** The kept documents, split. */
  readonly parts: readonly ({ readonly name: "training" | "validation" } & Counts & Partial<Pick<TokenCounts, "tokens">>)[];
}

/** A removed document beside the one that was kept in its place. */
export interface DuplicateExample {
  readonly reason: "exact" | "near";
  /** Share of the two texts' shingles that they have in common, 0 to 1. */
  readonly similarity: number;
  readonly keptId: string;
  readonly keptSource: string;
  /** Beginning of the kept text. */
  readonly keptText: string;
  readonly removedId: string;
  readonly removedSource: string;
  /** Beginning of the removed text. */
  readonly removedText: string;
}

/** What training did. */
export interface TrainingFacts {
  readonly parameters: number;
  readonly steps: number;
  /** Mean loss of the last batch, in nats per token. */
  readonly loss: number;
  /** The numbers of the model's configuration, by name. */
  readonly model: Readonly<Record<string, number>>;
  readonly curve: readonly CurvePoint[];
  /** How many recorded points each point of the curve is the mean of; 1 unless the run was very long. */
  readonly pointsPerMean: number;
}

/** How well the model predicts the validation documents, beside simpler ones. */
export interface EvaluationFacts {
  /** Nats per token. */
  readonly validationLoss: number;
  readonly bitsPerByte: number;
  readonly tokens: number;
  readonly bytes: number;
}

/** One artifact that the report's inputs were made from, or one of them. */
export interface LineageFact {
  /** Name of the step in the experiment; of its kind where the experiment did not say. */
  readonly step: string;
  /** Kind of step. */
  readonly kind: string;
  /** Version of the kind. */
  readonly version: string;
  readonly fingerprint: string;
  readonly digest: string;
  /** "present" as a rule; "missing" or "changed" when the store no longer holds what the others were made from. */
  readonly state: "present" | "missing" | "changed";
  /** Fingerprints of the artifacts it was made from, by role. */
  readonly inputs: Readonly<Record<string, string>>;
  /** The options that decided it. */
  readonly config: unknown;
  /** What else decided it besides its inputs: the digest of a user's files, for example. */
  readonly identity: unknown;
  readonly files: { readonly count: number; readonly bytes: number };
}

/** The facts of an experiment: equal artifacts give equal reports. Neither times nor machines are in it. */
export interface Report {
  readonly formatVersion: 1;
  readonly title: string;
  readonly funnel: Funnel | undefined;
  readonly contamination: (Pick<NonNullable<ReportInputs["decontaminate"]>, "contaminated" | "touched"> & NonNullable<ReportInputs["decontaminate"]>["evaluations"]) | undefined;
  readonly duplicates: { readonly clusters: number; readonly candidates: number; readonly verified: number; readonly examples: readonly DuplicateExample[] } | undefined;
  readonly tokenizer: { readonly vocabSize: number; readonly merges: number } | undefined;
  readonly training: TrainingFacts | undefined;
  readonly evaluation: EvaluationFacts | undefined;
  /** Baselines, in bits per byte of the validation documents. */
  readonly baselines: readonly { readonly name: string; readonly bitsPerByte: number }[];
  readonly samples: readonly { readonly prompt: string; readonly continuation: string; readonly tokens: number }[];
  /** Inputs before what is made from them. */
  readonly lineage: readonly LineageFact[];
}
