import type { Artifact } from "../step.js";

/** Documents and the UTF-8 bytes of their texts. */
export interface Counts {
  readonly documents: number;
  readonly bytes: number;
}

/** What was read of one source. */
export interface SourceCounts extends Counts {
  readonly files: number;
  /** Documents read, those included that were too short to keep. */
  readonly read: number;
  readonly tooShort: number;
  /** Records that could not be read, where they were passed over. */
  readonly unreadable?: number;
  /** Files of which nothing could be read, where they were passed over. */
  readonly damagedFiles?: number;
  /** UTF-8 bytes of those that were too short, where counted. */
  readonly tooShortBytes?: number;
}

/** Tokens of one part, ends of documents included. */
export interface TokenCounts extends Counts {
  readonly tokens: number;
}

/**
 * The results that a report reads, by role. Each may be missing: then its section is. A step of another kind serves as well where its result has
 * these fields. A role of any other name adds an artifact to the lineage.
 */
export interface ReportInputs {
  /** Documents before deduplication. */
  readonly documents?: Counts & { readonly sources?: Readonly<Record<string, SourceCounts>> };
  /** What was kept when documents went that give away evaluations. */
  readonly decontaminate?: Counts & {
    readonly contaminated: Counts;
    /** Kept, with text of evaluations, but too little of it. */
    readonly touched: Counts;
    readonly evaluations: {
      readonly items: number;
      /** Items that are in a document left out. */
      readonly leaked: number;
      /** N-grams that count for nothing, because the documents have them often, and items of which nothing else is left. */
      readonly common?: { readonly ngrams: number; readonly items: number };
      readonly mostLeaked: readonly { readonly id: string; readonly documents: number }[];
    };
  };
  /** What was kept, and of it what is trained on and validated on. */
  readonly dedup?: {
    readonly kept: Counts;
    readonly train: Counts;
    readonly validation: Counts;
    readonly removed: { readonly exact: Counts; readonly near: Counts };
    /** Kept documents for which at least one other was removed. */
    readonly clusters: number;
    /** Pairs of different texts that were compared. */
    readonly candidates: number;
    /** Those of them that were found to be near-duplicates. */
    readonly verified: number;
  };
  readonly tokenizer?: { readonly vocabSize: number; readonly merges: number };
  readonly tokens?: { readonly train: TokenCounts; readonly validation: TokenCounts };
  readonly train?: {
    readonly parameters: number;
    readonly steps: number;
    /** Mean loss of the last batch, in nats per token. */
    readonly loss: number;
    /** Shape of the model; numbers are shown by name. */
    readonly model: object;
  };
  readonly baselines?: { readonly baselines: readonly { readonly name: string; readonly bitsPerByte: number }[] };
  readonly evaluate?: { readonly validationLoss: number; readonly bitsPerByte: number; readonly tokens: number; readonly bytes: number };
  readonly sample?: { readonly prompt: string; readonly continuation: string; readonly tokens: number };
  readonly [role: string]: unknown;
}

/** The artifacts of {@link ReportInputs}. */
export type ReportArtifacts = { readonly [Role in keyof ReportInputs]: Artifact<ReportInputs[Role]> };
