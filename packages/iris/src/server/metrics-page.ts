import { createMetrics } from "@marin/rigging";
import type { IrisApi } from "../client/iris-api.js";
import type { JobState } from "../jobs/job-status.js";

const active: readonly JobState[] = ["PENDING", "ASSIGNED", "BUILDING", "RUNNING"];

/**
 * The page that Prometheus reads, from what the controller says at that moment: jobs and tasks under way by state, workers, what they have and what of it is used, users' spend.
 *
 * @param api - the controller
 */
export async function metricsPage(api: IrisApi): Promise<string> {
  // New each time: a worker that is gone must not stay on the page.
  const metrics = await createMetrics();
  const [jobs, workers, users] = await Promise.all([api.list({ states: active, limit: 10_000 }), api.workers({}), api.users({})]);
  const jobsGauge = metrics.gauge({ name: "iris_jobs", help: "Jobs that have not ended, by state", labels: ["state"] });
  const tasksGauge = metrics.gauge({ name: "iris_tasks", help: "Tasks of jobs that have not ended, by state", labels: ["state"] });
  const tasks = new Map<string, number>(active.map((state) => [state, 0]));
  for (const job of jobs) for (const [state, count] of Object.entries(job.tasks)) tasks.set(state, (tasks.get(state) ?? 0) + count);
  for (const [state, count] of tasks) tasksGauge.set(count, { state });
  for (const state of active) jobsGauge.set(jobs.filter((job) => job.state === state).length, { state });
  const workersGauge = metrics.gauge({ name: "iris_workers", help: "Workers, by state", labels: ["state"] });
  for (const state of ["reachable", "unreachable"]) workersGauge.set(workers.filter((worker) => worker.state === state).length, { state });
  const resources = ["cpu", "memory_bytes", "disk_bytes", "devices"] as const;
  for (const kind of ["capacity", "used"] as const) {
    const what = kind === "capacity" ? "What a worker gives to tasks" : "What its tasks hold";
    const gauges = resources.map((resource) => metrics.gauge({ name: `iris_worker_${kind}_${resource}`, help: what, labels: ["worker"] }));
    for (const worker of workers) {
      const { cpu, memoryBytes, diskBytes, device } = worker[kind];
      for (const [index, value] of [cpu, memoryBytes, diskBytes, device?.count ?? 0].entries()) gauges[index]?.set(value, { worker: worker.name });
    }
  }
  const spend = metrics.gauge({ name: "iris_user_spend", help: "What a user's running tasks use now", labels: ["user"] });
  for (const { user, spend: value } of users) spend.set(value, { user });
  return metrics.page();
}
