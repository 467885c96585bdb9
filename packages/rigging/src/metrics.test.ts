import { expect, test } from "vitest";
import { createMetrics } from "./metrics.js";

test("the page is what Prometheus reads", async () => {
  const metrics = await createMetrics();
  const jobs = metrics.counter({ name: "jobs_total", help: "Jobs that ended.", labels: ["state"] });
  jobs.add(1, { state: "SUCCEEDED" });
  jobs.add(2, { state: "SUCCEEDED" });
  metrics.counter({ name: "jobs_total", help: "Jobs that ended.", labels: ["state"] }).add(1, { state: 'odd "state"\n' });
  metrics.gauge({ name: "loss", help: "Loss of the last step." }).set(3.25);
  const seconds = metrics.histogram({ name: "step_seconds", help: "Time of a step.", buckets: [0.1, 1] });
  for (const value of [0.05, 0.5, 5]) seconds.observe(value);
  // Prometheus, "Exposition formats", text-based format.
  expect((await metrics.page()).trim().split("\n")).toEqual([
    "# HELP jobs_total Jobs that ended.",
    "# TYPE jobs_total counter",
    'jobs_total{state="SUCCEEDED"} 3',
    'jobs_total{state="odd \\"state\\"\\n"} 1',
    "",
    "# HELP loss Loss of the last step.",
    "# TYPE loss gauge",
    "loss 3.25",
    "",
    "# HELP step_seconds Time of a step.",
    "# TYPE step_seconds histogram",
    'step_seconds_bucket{le="0.1"} 1',
    'step_seconds_bucket{le="1"} 2',
    'step_seconds_bucket{le="+Inf"} 3',
    "step_seconds_sum 5.55",
    "step_seconds_count 3",
  ]);
});

test("the page is served at /metrics, on this machine only", async () => {
  const metrics = await createMetrics();
  metrics.gauge({ name: "up", help: "Always 1." }).set(1);
  const server = await metrics.serve();
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
  const response = await fetch(server.url);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(await response.text()).toContain("up 1");
  expect((await fetch(server.url.replace("metrics", "other"))).status).toBe(404);
  const port = Number(new URL(server.url).port);
  await expect(metrics.serve({ port })).rejects.toMatchObject({ code: "RIGGING_PORT_TAKEN", data: { host: "127.0.0.1", port } });
  await server.close();
  await expect(fetch(server.url)).rejects.toThrow();
});

test("two sets of metrics do not meet; what cannot be is refused", async () => {
  const [a, b] = [await createMetrics(), await createMetrics()];
  a.counter({ name: "n", help: "n" }).add();
  b.counter({ name: "n", help: "n" }).add(5);
  expect(await a.page()).toContain("n 1");
  expect(await b.page()).toContain("n 5");
  const bad = expect.objectContaining({ code: "RIGGING_BAD_METRIC" }) as Error;
  expect(() => a.gauge({ name: "n", help: "n" })).toThrow(bad);
  expect(() => a.counter({ name: "a b", help: "n" })).toThrow(bad);
  expect(() => a.counter({ name: "n", help: "n" }).add(-1)).toThrow(bad);
  expect(() => a.counter({ name: "n", help: "n" }).add(1, { other: "x" })).toThrow(bad);
  expect(() => a.gauge({ name: "g", help: "g" }).set(Number("x"))).not.toThrow();
  expect(() => a.gauge({ name: "g", help: "g" }).set("1" as unknown as number)).toThrow(bad);
});
