import type { LineEntry } from "../jobs/line-log.js";
import type { AttemptOutcome } from "../jobs/model.js";
import { plainProgress } from "../runtime/relay.js";
import type { Report } from "../worker/protocol.js";
import type { Controller } from "./controller.js";
import type { JobRecord } from "./job-record.js";
import type { LiveAttempt } from "./workers.js";

/**
 * Takes what a worker reports. What is not about a task's current attempt, or was taken before, changes nothing. Inside a turn.
 *
 * @param controller - whose attempts they are
 * @param reports - the next of each attempt's, in order
 */
export function takeReports(controller: Controller, reports: readonly Report[]): void {
  let lines: LineEntry[] = [];
  let of: JobRecord | undefined;
  /** On disk before anything that came after them is stored; many lines in one write. */
  const write = (): void => {
    if (of !== undefined) for (const line of of.log.append(lines)) of.feed.push({ type: "log", line });
    lines = [];
    of = undefined;
  };
  for (const report of reports) {
    const attempt = controller.attempt(report.attemptUid);
    if (attempt === undefined || report.seq <= attempt.seq) continue;
    attempt.seq = report.seq;
    if (report.type !== "log") {
      write();
      take(controller, attempt, report);
      continue;
    }
    if (of !== attempt.job) write();
    of = attempt.job;
    const { source, level, message, fields, attemptUid, seq } = report;
    const line = { time: new Date(report.time).toISOString(), level, source, taskIndex: attempt.taskIndex, attempt: attempt.number, message, ...(fields === undefined || Object.keys(fields).length === 0 ? {} : { fields }) };
    lines.push({ line, attemptUid, seq });
  }
  write();
}

function take(controller: Controller, attempt: LiveAttempt, report: Exclude<Report, { readonly type: "log" }>): void {
  const { job, taskIndex, number } = attempt;
  const from = { taskIndex, attempt: number };
  switch (report.type) {
    case "building":
      return controller.apply(job, { type: "building", attemptUid: report.attemptUid });
    case "started":
      return controller.apply(job, { type: "started", attemptUid: report.attemptUid, pid: report.pid, ports: report.ports });
    case "progress": {
      const progress = plainProgress(report.progress);
      job.setProgress(taskIndex, progress);
      return job.feed.push({ type: "progress", ...from, progress });
    }
    case "metrics": {
      const { values, step } = report;
      return job.feed.push({ type: "metrics", ...from, values, ...(step === undefined ? {} : { step }) });
    }
    case "ended": {
      const { outcome, outputs } = report;
      if (outputs !== undefined) job.setOutputs(report.attemptUid, outputs);
      if (outcome.kind === "returned") controller.setValue(job, taskIndex, outcome.value);
      return controller.apply(job, { type: "ended", attemptUid: report.attemptUid, outcome: outcomeOf(outcome, attempt.worker) });
    }
  }
}

function outcomeOf(outcome: Extract<Report, { readonly type: "ended" }>["outcome"], worker: string): AttemptOutcome {
  if (outcome.kind === "returned") return { kind: "succeeded" };
  if (outcome.kind === "failed") return { kind: "failed", cause: outcome.cause };
  // Told to by this controller: the state machine knows why. Else the worker was ended by somebody.
  return { kind: "failed", cause: { kind: "node-lost", worker, message: "the worker was told to stop it" } };
}
