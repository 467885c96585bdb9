import { expect, test } from "vitest";
import type { Authenticator } from "./auth/authenticator.js";
import { authChain } from "./auth/chain.js";
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

test("beyond this machine the page needs authentication, and shows itself to whoever may read it", async () => {
  const metrics = await createMetrics({ process: true });
  await expect(metrics.serve({ host: "0.0.0.0" })).rejects.toMatchObject({ code: "RIGGING_AUTH_REQUIRED" });
  const byHeader: Authenticator = {
    name: "test",
    authenticate: ({ headers }) => {
      const scopes = headers["authorization"];
      return scopes === "Bearer broken" ? Promise.reject(new Error("disk")) : typeof scopes === "string" ? { outcome: "authenticated", principal: { name: "ada", scopes: [scopes.slice(7)], authenticator: "test" } } : { outcome: "absent" };
    },
  };
  await using server = await metrics.serve({ host: "0.0.0.0", auth: authChain([byHeader]) });
  const get = async (scopes?: string, method = "GET"): Promise<Response> => await fetch(server.url.replace("0.0.0.0", "127.0.0.1"), { method, headers: scopes === undefined ? {} : { authorization: `Bearer ${scopes}` } });
  const refused = await get();
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, expect.stringContaining("Bearer")]);
  expect((await get("jobs:read")).status).toBe(403);
  expect((await get("broken")).status).toBe(503);
  expect((await get("metrics:read", "POST")).status).toBe(405);
  expect(await (await get("metrics:read")).text()).toMatch(/^process_resident_memory_bytes \d+$/m);
});

test("a snapshot has what the page has", async () => {
  const metrics = await createMetrics();
  metrics.counter({ name: "n", help: "N.", labels: ["a"] }).add(2, { a: "x" });
  const histogram = metrics.histogram({ name: "h", help: "H.", labels: ["a"], buckets: [1, 2] });
  for (const value of [0.5, 1.5, 1.7, 9]) histogram.observe(value, { a: "x" });
  histogram.observe(2, { a: "y" });
  expect(await metrics.snapshot()).toEqual([
    { name: "n", help: "N.", kind: "counter", series: [{ labels: { a: "x" }, value: 2 }] },
    {
      name: "h", help: "H.", kind: "histogram",
      series: [{ labels: { a: "x" }, count: 4, sum: 12.7, bounds: [1, 2], counts: [1, 2, 1] }, { labels: { a: "y" }, count: 1, sum: 2, bounds: [1, 2], counts: [0, 1, 0] }],
    },
  ]);
});
