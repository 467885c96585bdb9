/** How far a processing function is. */
export interface ProcessingProgress {
  /** Units done so far. */
  readonly done: number;
  /** Units in all, where known. */
  readonly total?: number;
  /** What is counted, in plural: "documents", "tokens". */
  readonly unit: string;
}

/** What every processing function accepts besides its own options. */
export interface ProcessingOptions {
  /** Stops the work at the next occasion; the function then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Told how far the work is; called often. */
  readonly onProgress?: ((progress: ProcessingProgress) => void) | undefined;
}
