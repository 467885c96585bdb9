import { EventEmitter } from "node:events";
import { setTimeout } from "node:timers/promises";
import * as otel from "@opentelemetry/api";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Collector, startCollector } from "../../test/collector.js";
import { staticToken } from "../auth/token-provider.js";
import { createLogger } from "../log.js";
import { createMetrics } from "../metrics.js";
import { Secret } from "../secrets.js";
import { type Telemetry, type TelemetryOptions, startTelemetry } from "./start.js";
import { currentTraceparent, withSpan } from "./trace.js";

let collector: Collector;
let telemetry: Telemetry | undefined;
beforeEach(async () => {
  collector = await startCollector();
});
afterEach(async () => {
  await telemetry?.shutdown();
  telemetry = undefined;
  await collector[Symbol.asyncDispose]();
});

async function start(options: Partial<TelemetryOptions> = {}): Promise<Telemetry> {
  return (telemetry = await startTelemetry({ service: "test", endpoint: collector.endpoint, metricsIntervalMs: 3_600_000, delayMs: 10, ...options }));
}

test("spans nest across await, timers and emitters, interleaved work does not mix, and another process's span can be the parent", async () => {
  const running = await start();
  const remote = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await Promise.all(
    Array.from({ length: 20 }, (_, job) =>
      withSpan("job", async (span) => {
        await setTimeout(job % 3);
        const emitter = new EventEmitter();
        await withSpan("step", async (step) => {
          await new Promise<void>((resolve) => emitter.once("go", resolve) && setImmediate(() => emitter.emit("go")));
          expect(currentTraceparent()).toBe(step.traceparent);
        }, { attributes: { job } });
        expect(currentTraceparent()).toBe(span.traceparent);
      }, { attributes: { job }, ...(job === 0 ? { parent: remote } : {}) }),
    ),
  );
  expect(currentTraceparent()).toBeUndefined();
  await running.flush();
  const spans = collector.spans();
  expect(spans).toHaveLength(40);
  const jobOf = (span: (typeof spans)[number]): unknown => (span.attributes.find(({ key }) => key === "job")?.value as { intValue: unknown }).intValue;
  for (const step of spans.filter(({ name }) => name === "step")) {
    const parent = spans.find(({ spanId }) => spanId === step.parentSpanId);
    expect([parent?.name, jobOf(parent ?? step), parent?.traceId]).toEqual(["job", jobOf(step), step.traceId]);
  }
  const first = spans.find((span) => span.name === "job" && Number(jobOf(span)) === 0);
  expect([first?.traceId, first?.parentSpanId]).toEqual(["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"]);
});

test("a span that fails says so, and the error is the caller's as it was; OpenTelemetry's own API is recorded too", async () => {
  const running = await start();
  const error = Object.assign(new Error("no such shard"), { code: "ZEPHYR_X" });
  await expect(withSpan("read", () => Promise.reject(error))).rejects.toBe(error);
  otel.trace.getTracer("user").startActiveSpan("own", (span) => span.end());
  await running.flush();
  const [read, own] = collector.spans();
  expect(read).toMatchObject({ name: "read", status: { code: 2, message: "no such shard" }, events: [{ name: "exception" }] });
  expect(own?.name).toBe("own");
});

test("a collector that fails on purpose: what it asks for again comes again with the same bytes and id, what it refuses is dropped, and all is counted", async () => {
  const metrics = await createMetrics();
  let warnings = "";
  const running = await start({ metrics, log: createLogger({ write: (line) => void (warnings += line) }) });
  collector.answers.push("reset", 503, 429);
  await withSpan("one", () => Promise.resolve());
  await running.flush();
  const traces = collector.received.filter(({ path }) => path === "/v1/traces");
  expect(traces).toHaveLength(4);
  expect(new Set(traces.map(({ id, body }) => id + body)).size).toBe(1);
  expect(collector.spans()).toHaveLength(1);
  for (const status of [400, 404, 413]) {
    collector.answers.push(status);
    await withSpan("refused", () => Promise.resolve());
    await running.flush();
  }
  expect(running.stats()).toMatchObject({ waiting: 0, lost: { refused: 3 } });
  expect(warnings).toContain("telemetry was lost records=1 reason=refused");
  expect(warnings.trim().split("\n")).toHaveLength(1);
  const page = await metrics.page();
  expect(page).toContain('telemetry_records_lost_total{signal="traces",reason="refused"} 3');
  expect(page).toContain("telemetry_retries_total 3");
});

test("with the collector gone, recording goes on without waiting, and no more than the cap is kept", async () => {
  await collector[Symbol.asyncDispose]();
  const running = await start({ maxRecords: 500, shutdownMs: 100 });
  for (let index = 0; index < 2000; index++) await withSpan("work", () => Promise.resolve());
  expect(running.stats()).toEqual({ waiting: 500, delivered: 0, lost: { full: 1500 } });
  const big = "x".repeat(100_000);
  await running.shutdown();
  expect(running.stats().waiting).toBe(0);
  collector = await startCollector();
  const bytes = await start({ maxBytes: 1_000_000, shutdownMs: 100 });
  for (let index = 0; index < 20; index++) await withSpan("work", (span) => (span.setAttributes({ big }), Promise.resolve()));
  expect(bytes.stats().waiting).toBeLessThan(10);
  expect(bytes.stats().lost.full).toBeGreaterThan(10);
});

test("a collector that never answers holds up neither the work nor, beyond its time, the end", async () => {
  const running = await start({ shutdownMs: 100 });
  collector.answers.push("hang", "hang", "hang");
  await withSpan("work", () => Promise.resolve());
  // The end has its own time limit; the generous bound is for busy machines.
  await Promise.race([running.shutdown(), setTimeout(20_000).then(() => Promise.reject(new Error("the end hangs")))]);
  expect(running.stats()).toMatchObject({ waiting: 0, delivered: 0, lost: { shutdown: 1 } });
});

test("measurements reach the collector as the page has them", async () => {
  const metrics = await createMetrics();
  metrics.counter({ name: "jobs_total", help: "Jobs.", labels: ["state"] }).add(3, { state: "done" });
  metrics.gauge({ name: "loss", help: "Loss." }).set(2.5);
  const seconds = metrics.histogram({ name: "step_seconds", help: "Steps.", labels: ["kind"], buckets: [0.1, 1] });
  for (const value of [0.05, 0.5, 0.6, 5]) seconds.observe(value, { kind: "a" });
  const running = await start({ metrics });
  otel.metrics.getMeter("user").createCounter("own_total").add(7);
  await running.flush();
  expect(collector.metrics()).toMatchObject({
    jobs_total: { sum: { isMonotonic: true, aggregationTemporality: 2, dataPoints: [{ attributes: [{ key: "state", value: { stringValue: "done" } }], asDouble: 3 }] } },
    loss: { gauge: { dataPoints: [{ asDouble: 2.5 }] } },
    step_seconds: { histogram: { dataPoints: [{ count: 4, explicitBounds: [0.1, 1], bucketCounts: [1, 2, 1] }] } },
    own_total: { sum: { dataPoints: [{ asDouble: 7 }] } },
  });
});

test("secrets leave in no span and no measurement, byte by byte; the collector's own token only in its header", async () => {
  const metrics = await createMetrics();
  const secret = new Secret("key", 'hunt"er/2!é');
  const running = await start({ metrics, tokens: staticToken(new Secret("collector", "collector-token-7")) });
  metrics.counter({ name: "n", help: "n", labels: ["who"] }).add(1, { who: secret.reveal() });
  await withSpan(`call ${secret.reveal()}`, (span) => {
    span.setAttributes({ url: `https://h/?q=${encodeURIComponent(secret.reveal())}`, list: [secret.reveal()], [secret.reveal()]: 1 });
    span.addEvent(`e ${secret.reveal()}`, { value: Buffer.from(`user:${secret.reveal()}`).toString("base64") });
    return Promise.reject(new Error(`failed with ${secret.reveal()}`));
  }).catch(() => undefined);
  await running.flush();
  expect(collector.received.map(({ authorization }) => authorization)).toEqual(collector.received.map(() => "Bearer collector-token-7"));
  const text = collector.received.map(({ body }) => body).join("\n");
  expect(text).toContain("[secret key]");
  for (const form of [secret.reveal(), JSON.stringify(secret.reveal()).slice(1, -1), encodeURIComponent(secret.reveal()), Buffer.from(secret.reveal()).toString("base64").slice(0, -4), "collector-token-7"]) expect(text).not.toContain(form);
});

test("telemetry starts once, can start again after its end, and lines carry the span's ids while it runs", async () => {
  const running = await start();
  await expect(startTelemetry({ service: "again", endpoint: collector.endpoint })).rejects.toMatchObject({ code: "RIGGING_TELEMETRY_RUNS" });
  let text = "";
  const log = createLogger({ format: "json", write: (line) => void (text += line) });
  let traceparent: string | undefined;
  await withSpan("work", (span) => {
    traceparent = span.traceparent;
    log.info("inside");
    return Promise.resolve();
  });
  log.info("outside");
  const [inside, outside] = text.trim().split("\n").map((line) => JSON.parse(line) as Record<string, string>);
  expect(`00-${inside?.["trace_id"] ?? ""}-${inside?.["span_id"] ?? ""}-01`).toBe(traceparent);
  expect(outside).not.toHaveProperty("trace_id");
  await running.shutdown();
  expect(await withSpan("none", (span) => Promise.resolve(span.traceparent))).toBeUndefined();
  await start();
  await expect(startTelemetry({ service: "x", endpoint: "ftp://h" })).rejects.toMatchObject({ code: "RIGGING_BAD_OPTION" });
});
