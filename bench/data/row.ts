/** How a section of `pnpm bench data` measures. */
export interface DataOptions {
  /** Share of the full amount of data: 1 is that of the record. */
  readonly scale: number;
  /** Processes of each side, in turn. */
  readonly rounds: number;
  /** An empty directory, removed afterwards. */
  readonly directory: string;
}

/** A line of the result: what a side did, or why nothing was measured. */
export type DataRow = { readonly section: string; readonly side: string } & (
  | { readonly unmeasured: string }
  | {
      readonly version?: string;
      /** Megabytes (10^6 bytes) that were worked on, unpacked. */
      readonly megabytes: number;
      /** Wall-clock seconds of the median round. */
      readonly seconds: number;
      /** Processor seconds of the median round, all threads and child processes together. */
      readonly cpuSeconds?: number;
      /** The most memory a process had, in any round. */
      readonly peakBytes?: number;
      readonly note?: string;
    }
);

/** A part of `pnpm bench data`. */
export interface DataSection {
  measure(options: DataOptions): Promise<readonly DataRow[]>;
}
