import { SingleBar } from "cli-progress";
import pc from "picocolors";

import type { ExperimentEvent, ProgressEvent } from "../events.js";
import { formatSeconds, printable } from "./format.js";
import { planText } from "./plan-text.js";
import { progressText, type Reporter, type ReporterStreams } from "./reporter.js";

/** For people at a terminal: one progress bar for the running step, one line for each finished one. */
export function createTerminalReporter({ stdout, stderr }: ReporterStreams, color: boolean): Reporter {
  const paint = pc.createColors(color);
  let bar: SingleBar | undefined;
  let barHasTotal = false;
  let last: ProgressEvent | undefined;

  const hide = (): void => {
    bar?.stop();
    bar = undefined;
  };
  const show = (progress: ProgressEvent, text: string = printable(progressText(progress))): void => {
    last = progress;
    const total = progress.total ?? 0;
    if (barHasTotal !== (progress.total !== undefined)) hide();
    if (bar === undefined) {
      barHasTotal = progress.total !== undefined;
      bar = createBar(stderr, paint, progress);
      bar.start(total, progress.done, { text });
    } else {
      bar.setTotal(total);
      bar.update(progress.done, { text });
    }
  };
  const say = (line: string): void => {
    hide();
    stderr.write(`${line}\n`);
    if (last !== undefined && last.unit !== "") show(last);
  };

  return {
    emit(event: ExperimentEvent): void {
      switch (event.event) {
        case "run-started":
          say(`${paint.bold(event.experiment)} ${paint.dim(`in ${printable(event.prefix)}`)}`);
          break;
        case "step-started":
          show({ event: "progress", step: event.step, done: 0, unit: "" }, event.resumed ? "continues" : "starts");
          break;
        case "progress":
          show(event);
          break;
        case "message":
          say(`${paint.dim(event.step)} ${printable(event.message)}`);
          break;
        case "step-finished":
          last = undefined;
          say(`${paint.green("✓")} ${event.step} ${paint.dim(event.cached ? "cached" : formatSeconds(event.seconds))}`);
          break;
        case "result":
          last = undefined;
          say(paint.dim(`finished in ${formatSeconds(event.seconds)}`));
          for (const line of event.lines) stdout.write(`${printable(line)}\n`);
          break;
        case "error":
          last = undefined;
          say(event.code === "MARIN_INTERRUPTED" ? printable(event.message) : `${paint.red("error:")} ${printable(event.message)}`);
          break;
        case "plan":
          stdout.write(planText(event));
          break;
        case "output":
          say(`${paint.dim(event.step)} ${printable(event.line)}`);
          break;
        case "job":
          break;
        case "metrics":
          break;
      }
    },
    clear: hide,
    close(): void {
      last = undefined;
      hide();
    },
  };
}

function createBar(stream: NodeJS.WritableStream, paint: ReturnType<typeof pc.createColors>, progress: ProgressEvent): SingleBar {
  const meter = progress.total === undefined ? "" : `${paint.cyan("{bar}")} {percentage}% `;
  return new SingleBar({
    stream,
    format: `  ${progress.step} ${meter}{text}`,
    barCompleteChar: "━",
    barIncompleteChar: "─",
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
    linewrap: false,
    fps: 8,
    // The command itself handles signals, and closes the reporter.
    gracefulExit: false,
  });
}
