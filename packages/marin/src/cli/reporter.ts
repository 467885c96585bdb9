import type { ExperimentEvent, ProgressEvent } from "../events.js";
import { formatNumber, formatSeconds } from "./format.js";

/** Shows the events of a run. Results go to standard output, everything else to standard error. */
export interface Reporter {
  emit(event: ExperimentEvent): void;
  /** Takes the bar of the running step off the screen until it moves again, so that other text can stand on standard error. */
  clear(): void;
  /** Restores the terminal; nothing is shown afterwards. */
  close(): void;
}

/** Where a reporter writes. */
export interface ReporterStreams {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
}

/** "1,200 of 20,000 documents, loss 4.2, 2 min 3 s left" */
export function progressText(progress: Omit<ProgressEvent, "event" | "step">): string {
  const of = progress.total === undefined ? "" : ` of ${formatNumber(progress.total)}`;
  const parts = [`${formatNumber(progress.done)}${of} ${progress.unit}`];
  if (progress.detail !== undefined) parts.push(progress.detail);
  if (progress.secondsLeft !== undefined) parts.push(`${formatSeconds(progress.secondsLeft)} left`);
  return parts.join(", ");
}
