import type { ExperimentEvent } from "../events.js";
import { formatSeconds, printable } from "./format.js";
import { planText } from "./plan-text.js";
import { progressText, type Reporter, type ReporterStreams } from "./reporter.js";

const PROGRESS_INTERVAL_MS = 5000;

/** Plain lines, for logs and pipes: progress every five seconds. */
export function createPlainReporter({ stdout, stderr }: ReporterStreams, now: () => number = Date.now): Reporter {
  let lastProgress = -Infinity;
  const say = (line: string): void => void stderr.write(`${line}\n`);
  return {
    emit(event: ExperimentEvent): void {
      switch (event.event) {
        case "run-started":
          say(`${event.experiment}: ${event.steps.join(", ")} (in ${printable(event.prefix)})`);
          break;
        case "step-started":
          lastProgress = now();
          say(`${event.step}: ${event.resumed ? "continues" : "starts"}`);
          break;
        case "progress":
          if (now() - lastProgress < PROGRESS_INTERVAL_MS) break;
          lastProgress = now();
          say(`${event.step}: ${printable(progressText(event))}`);
          break;
        case "message":
          say(`${event.step}: ${printable(event.message)}`);
          break;
        case "step-finished":
          say(`${event.step}: ${event.cached ? "cached" : `done in ${formatSeconds(event.seconds)}`}`);
          break;
        case "result":
          say(`${event.experiment}: finished in ${formatSeconds(event.seconds)}`);
          for (const line of event.lines) stdout.write(`${printable(line)}\n`);
          break;
        case "error":
          say(event.code === "MARIN_INTERRUPTED" ? printable(event.message) : `error: ${printable(event.message)}`);
          break;
        case "plan":
          stdout.write(planText(event));
          break;
        case "output":
          say(`${event.step}: ${printable(event.line)}`);
          break;
        case "job":
          if (event.pendingReason !== undefined) say(`${event.step}: ${printable(event.pendingReason)}`);
          break;
        case "metrics":
          break;
      }
    },
    clear(): void {},
    close(): void {},
  };
}
