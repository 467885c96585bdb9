import type { AttemptOutcome } from "../jobs/model.js";
import { plainProgress } from "../runtime/relay.js";
import type { Report } from "../worker/protocol.js";
import type { Controller } from "./controller.js";

/**
 * Takes what a worker reports of an attempt. What is not about a task's current attempt, or was taken before, changes nothing. Inside a turn.
 *
 * @param controller - whose attempt it is
 * @param report - the next of the attempt's reports
 */
export function takeReport(controller: Controller, report: Report): void {
  const attempt = controller.attempt(report.attemptUid);
  if (attempt === undefined || report.seq <= attempt.seq) return;
  const { job, taskIndex, number } = attempt;
  const from = { taskIndex, attempt: number };
  attempt.seq = report.seq;
  switch (report.type) {
    case "building":
      return controller.apply(job, { type: "building", attemptUid: report.attemptUid });
    case "started":
      return controller.apply(job, { type: "started", attemptUid: report.attemptUid, pid: report.pid, ports: report.ports });
    case "log": {
      const { source, level, message, fields } = report;
      const line = { time: new Date(report.time).toISOString(), level, source, ...from, message, ...(fields === undefined || Object.keys(fields).length === 0 ? {} : { fields }) };
      // On disk before anything that came after it is stored.
      for (const added of job.log.append([{ line, attemptUid: report.attemptUid, seq: report.seq }])) job.feed.push({ type: "log", line: added });
      return;
    }
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
