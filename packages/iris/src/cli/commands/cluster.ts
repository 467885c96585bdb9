import { setTimeout as delay } from "node:timers/promises";
import type { IrisApi, WorkerStatus } from "../../client/iris-api.js";
import type { Resources } from "../../jobs/job-spec.js";
import { formatBytes } from "../../platform.js";
import type { CommandContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { usageError } from "../usage.js";

const workerHeadings = ["WORKER", "STATE", "CPU", "MEMORY", "DEVICES", "ATTEMPTS", "ATTRIBUTES"];

function workerRow({ name, state, capacity, used, attempts, attributes }: WorkerStatus): string[] {
  const memory = `${formatBytes(used.memoryBytes)} / ${formatBytes(capacity.memoryBytes)}`;
  return [name, state, `${String(used.cpu)} / ${String(capacity.cpu)}`, memory, deviceText(used, capacity), String(attempts.length), Object.entries(attributes).map(([key, value]) => `${key}=${String(value)}`).join(" ")];
}

function deviceText(used: Resources, { device }: Resources): string {
  return device === undefined ? "" : `${String(used.device?.count ?? 0)} / ${String(device.count)} ${device.variant ?? device.kind}`;
}

/** `iris workers`: what each worker has and what of it is used. */
export async function workersCommand({ connect, output, signal }: CommandContext): Promise<number> {
  await using target = await connect("read");
  const workers = await target.api.workers({}, { signal });
  for (const worker of workers) output.event("worker", worker);
  if (workers.length === 0) output.line("no workers");
  else output.table(workerHeadings, workers.map(workerRow));
  return exitCodes.success;
}

/** Flags of `iris top`. */
export interface TopFlags {
  readonly interval: number;
  readonly count?: number;
}

/** `iris top`: workers and the jobs under way, again and again. */
export async function topCommand({ connect, environment, output, signal }: CommandContext, { interval, count = Number.POSITIVE_INFINITY }: TopFlags): Promise<number> {
  await using target = await connect("no");
  const stop = new AbortController();
  const stopListening = environment.onInterrupt(() => stop.abort());
  try {
    for (let round = 0; round < count && !stop.signal.aborted; round += 1) {
      if (round > 0) await delay(interval, undefined, { signal: AbortSignal.any([signal, stop.signal]) }).catch(() => undefined);
      if (stop.signal.aborted || signal.aborted) break;
      await showTop(target.api, output, signal);
    }
    return exitCodes.success;
  } finally {
    stopListening();
  }
}

async function showTop(api: IrisApi, output: CommandContext["output"], signal: AbortSignal): Promise<void> {
  const [workers, jobs] = await Promise.all([api.workers({}, { signal }), api.list({ states: ["RUNNING", "BUILDING", "ASSIGNED", "PENDING"], limit: 50 }, { signal })]);
  output.event("top", { workers, jobs });
  output.clear();
  output.table(workerHeadings, workers.map(workerRow));
  output.line("");
  output.table(["JOB", "STATE", "USER", "WAITS FOR"], jobs.map(({ id, state, user, pendingReason }) => [id, state, user, pendingReason ?? ""]));
}

/** `iris budget`: what users use and may use; with a user and an amount, sets it. */
export async function budgetCommand({ connect, output, signal }: CommandContext, user: string | undefined, amount: string | undefined): Promise<number> {
  if (user !== undefined && amount === undefined) throw usageError("name the amount, too: iris budget ada 5000, or iris budget ada none");
  if (amount !== undefined && amount !== "none" && !/^\d+(\.\d+)?$/.test(amount)) throw usageError(`an amount is a number or none, got ${amount}`);
  await using target = await connect(user === undefined ? "read" : "no");
  if (user !== undefined) await target.api.setBudget({ user, budget: amount === "none" ? null : Number(amount) }, { signal });
  const users = await target.api.users({}, { signal });
  for (const each of users) output.event("user", each);
  if (users.length === 0) output.line("no users yet");
  else output.table(["USER", "SPEND", "BUDGET"], users.map(({ user: name, spend, budget }) => [name, String(spend), budget === undefined ? "no limit" : String(budget)]));
  return exitCodes.success;
}

/** Flags of `iris query`. */
export interface QueryFlags {
  readonly maxRows?: number;
}

/** `iris query`: asks the controller's database, read-only. */
export async function queryCommand({ connect, output, signal }: CommandContext, sql: string, { maxRows }: QueryFlags): Promise<number> {
  await using target = await connect("read");
  const { columns, rows, truncated } = await target.query(sql, maxRows, signal);
  for (const row of rows) output.event("row", Object.fromEntries(columns.map((column, index) => [column, row[index] ?? null])));
  output.table(columns, rows.map((row) => row.map((value) => (value === null ? "NULL" : String(value)))));
  if (truncated) output.note(`only the first ${String(rows.length)} rows: --max-rows gives more`);
  return exitCodes.success;
}

