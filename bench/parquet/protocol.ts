/** What a side's process prints. */
export interface ParquetReport {
  readonly version: string;
  /** Of each repetition; none where the library cannot do it. */
  readonly times: readonly { readonly seconds: number; readonly cpuSeconds: number }[];
  /** Characters of text, or rows, that were read: equal for all sides. */
  readonly seen?: number;
  /** Size of the file that was written. */
  readonly bytes?: number | undefined;
  readonly peakBytes?: number;
}
