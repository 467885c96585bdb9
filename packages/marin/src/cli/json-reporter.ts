import type { ExperimentEvent } from "../events.js";
import type { Reporter, ReporterStreams } from "./reporter.js";

/** One JSON object a line on standard output, nothing else there. */
export function createJsonReporter({ stdout }: Pick<ReporterStreams, "stdout">, now: () => Date = () => new Date()): Reporter {
  return {
    emit(event: ExperimentEvent): void {
      const { event: name, ...rest } = event;
      stdout.write(`${JSON.stringify({ event: name, time: now().toISOString(), ...rest })}\n`);
    },
    clear(): void {},
    close(): void {},
  };
}
