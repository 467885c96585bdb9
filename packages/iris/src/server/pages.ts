import { escapeControls, redactor } from "@marin/rigging";
import { html } from "hono/html";
import type { JobSummary, UserStatus, WireStatus, WorkerStatus } from "../client/iris-api.js";
import type { Resources } from "../jobs/job-spec.js";
import type { LogLine, TaskStatus } from "../jobs/job-status.js";
import { formatBytes } from "../platform.js";
import { type JobNode, jobTree } from "./job-tree.js";

/** A piece of a page: text put into it by {@link html} is escaped. */
export type Markup = ReturnType<typeof html>;

/** The style of all pages. */
export const stylesheet = `
:root { color-scheme: light dark; font: 14px/1.45 system-ui, sans-serif; }
body { margin: 1.5rem auto; max-width: 78rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .2rem .6rem .2rem 0; vertical-align: top; border-bottom: 1px solid #8884; }
pre { overflow-x: auto; padding: .6rem; background: #8881; white-space: pre-wrap; overflow-wrap: anywhere; }
.SUCCEEDED { color: #1a7f37; } .FAILED, .WORKER_FAILED, .UNSCHEDULABLE, .error { color: #cf222e; } .PENDING, .PREEMPTED, .warn { color: #9a6700; } .RUNNING, .BUILDING, .ASSIGNED { color: #0969da; }
.quiet { color: #8889; } form { margin: .6rem 0; } input, select, button { font: inherit; margin-right: .4rem; }
`;

/** Text from jobs, as it may stand on a page: without secrets and control characters. {@link html} escapes the rest. */
function shown(text: string): string {
  return escapeControls(redactor.redact(text), "\n\t");
}

function page(title: string, body: Markup, refreshSeconds: number | undefined): Markup {
  return html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${
    refreshSeconds === undefined ? "" : html`<meta http-equiv="refresh" content="${String(refreshSeconds)}">`
  }<title>${shown(title)}</title><link rel="stylesheet" href="/style.css"></head><body>${body}</body></html>`;
}

/** What the first page shows. */
export interface OverviewData {
  readonly jobs: readonly JobSummary[];
  /** Absent for one who may not see the cluster. */
  readonly workers: readonly WorkerStatus[] | undefined;
  readonly users: readonly UserStatus[] | undefined;
  readonly filter: { readonly user?: string | undefined; readonly state?: readonly string[] | undefined; readonly prefix?: string | undefined };
}

/** The page of all jobs, workers and users. */
export function overviewPage({ jobs, workers, users, filter }: OverviewData): Markup {
  const body = html`<h1>iris</h1>
<form action="/"><input name="prefix" placeholder="id begins with" value="${shown(filter.prefix ?? "")}"><input name="user" placeholder="user" value="${shown(filter.user ?? "")}"><input name="state" placeholder="state, e.g. RUNNING,PENDING" value="${shown(filter.state?.join(",") ?? "")}"><button>filter</button></form>
<h2>Jobs</h2>
${jobs.length === 0 ? html`<p class="quiet">None.</p>` : html`<table><tr><th>job<th>state<th>tasks<th>user<th>submitted<th>waits for</tr>${jobTree(jobs).map(jobRow)}</table>`}
${workers === undefined ? "" : html`<h2>Workers</h2>${workersTable(workers)}`}
${users === undefined || users.length === 0 ? "" : html`<h2>Users</h2><table><tr><th>user<th>spend<th>budget</tr>${users.map(({ user, spend, budget }) => html`<tr><td>${shown(user)}<td>${String(spend)}<td>${budget === undefined ? "no limit" : String(budget)}</tr>`)}</table>`}`;
  return page("iris", body, 5);
}

function jobRow({ job, depth }: JobNode): Markup {
  const tasks = Object.entries(job.tasks).map(([state, count]) => `${String(count)} ${state.toLowerCase()}`).join(", ");
  return html`<tr><td>${"\u00a0\u00a0".repeat(depth)}<a href="/job?${new URLSearchParams({ job: job.uid }).toString()}">${shown(depth === 0 ? job.id : job.id.slice(job.id.lastIndexOf("/")))}</a><td class="${className(job.state)}">${shown(job.state)}<td>${shown(tasks)}<td>${shown(job.user)}<td>${shown(job.submittedAt)}<td>${shown(job.pendingReason ?? "")}</tr>`;
}

function workersTable(workers: readonly WorkerStatus[]): Markup {
  if (workers.length === 0) return html`<p class="quiet">None: start one with \`iris worker\`.</p>`;
  return html`<table><tr><th>worker<th>state<th>cpu<th>memory<th>device<th>attempts<th>attributes</tr>${workers.map(
    ({ name, state, lastHeardAt, capacity, used, attempts, attributes }) =>
      html`<tr><td>${shown(name)}<td>${state === "reachable" ? state : `${state}, last heard ${shown(lastHeardAt)}`}<td>${String(used.cpu)} / ${String(capacity.cpu)}<td>${formatBytes(used.memoryBytes)} / ${formatBytes(capacity.memoryBytes)}<td>${deviceText(used, capacity)}<td>${String(attempts.length)}<td>${Object.entries(attributes).map(([key, value]) => shown(`${key}=${String(value)} `))}</tr>`,
  )}</table>`;
}

function deviceText(used: Resources, { device }: Resources): string {
  return device === undefined ? "" : shown(`${String(used.device?.count ?? 0)} / ${String(device.count)} ${device.variant ?? device.kind}`);
}

/** What a job's page shows. */
export interface JobData {
  readonly status: WireStatus;
  readonly children: readonly JobSummary[];
  readonly lines: readonly LogLine[];
  readonly filter: { readonly tail: number; readonly level?: string | undefined; readonly contains?: string | undefined; readonly task?: number | undefined };
  /** Whether the job has ended, so that the page stays as it is. */
  readonly ended: boolean;
}

/** The page of one job: tasks, attempts, why it waits, its log. */
export function jobPage({ status, children, lines, filter, ended }: JobData): Markup {
  const { id, uid = id, state, tasks } = status;
  const facts = [["user", status.user], ["submitted", status.submittedAt], ["ended", status.endedAt], ["uid", uid], ["waits for", status.pendingReason], ["why", status.error?.error.message]] as const;
  const body = html`<p><a href="/">all jobs</a></p><h1>${shown(id)} <span class="${className(state)}">${shown(state)}</span></h1>
<table>${facts.map(([name, value]) => (value === undefined ? "" : html`<tr><th>${name}<td>${shown(value)}</tr>`))}</table>
<h2>Tasks</h2><table><tr><th>task<th>state<th>attempt<th>worker<th>process<th>started<th>ended<th>cause<th>progress</tr>${tasks.map(taskRows)}</table>
${children.length === 0 ? "" : html`<h2>Children</h2><table><tr><th>job<th>state<th>tasks<th>user<th>submitted<th>waits for</tr>${jobTree(children).map(jobRow)}</table>`}
<h2>Log</h2>
<form action="/job"><input type="hidden" name="job" value="${shown(uid)}"><input name="tail" size="6" value="${String(filter.tail)}"><select name="level">${["", "debug", "info", "warn", "error"].map((level) => html`<option value="${level}" ${level === (filter.level ?? "") ? "selected" : ""}>${level === "" ? "every level" : level}</option>`)}</select><input name="task" size="4" placeholder="task" value="${filter.task === undefined ? "" : String(filter.task)}"><input name="contains" placeholder="contains" value="${shown(filter.contains ?? "")}"><button>show</button></form>
<pre>${lines.length === 0 ? "No lines." : lines.map(logRow)}</pre>`;
  return page(id, body, ended ? undefined : 5);
}

function taskRows(task: TaskStatus): Markup {
  const attempts = task.attempts ?? [];
  const progress = task.progress === undefined ? "" : `${String(task.progress.done)}${task.progress.total === undefined ? "" : ` of ${String(task.progress.total)}`} ${task.progress.unit} ${task.progress.detail ?? ""}`;
  if (attempts.length === 0) return html`<tr><td>${String(task.index)}<td class="${className(task.state)}">${shown(task.state)}<td>${String(task.attempt)}<td>${shown(task.worker ?? "")}<td>${String(task.pid ?? "")}<td><td><td>${shown(task.cause?.kind ?? "")}<td>${shown(progress)}</tr>`;
  return html`${attempts.map(
    (attempt, place) =>
      html`<tr><td>${place === 0 ? String(task.index) : ""}<td class="${className(attempt.state)}">${shown(attempt.state)}<td>${String(attempt.number)}<td>${shown(attempt.worker)}<td>${String(attempt.pid ?? "")}<td>${shown(attempt.startedAt ?? "")}<td>${shown(attempt.endedAt ?? "")}<td>${shown(attempt.cause?.kind ?? "")}<td>${place === attempts.length - 1 ? shown(progress) : ""}</tr>`,
  )}`;
}

function logRow({ time, level, taskIndex, attempt, message, fields }: LogLine): Markup {
  const named = fields === undefined ? "" : ` ${JSON.stringify(fields)}`;
  return html`<span class="quiet">${shown(time)} ${String(taskIndex)}:${String(attempt)}</span> <span class="${className(level)}">${shown(message + named)}</span>\n`;
}

/** A page that tells of an error. */
export function errorPage(title: string, message: string): Markup {
  return page(title, html`<p><a href="/">all jobs</a></p><h1>${shown(title)}</h1><p>${shown(message)}</p>`, undefined);
}

function className(text: string): string {
  return /^[A-Za-z_]+$/.test(text) ? text : "";
}
