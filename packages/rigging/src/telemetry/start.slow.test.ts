import { expect, test } from "vitest";
import { startCollector } from "../../test/collector.js";
import { seededRandom } from "../time/random.js";
import { startTelemetry } from "./start.js";
import { withSpan } from "./trace.js";

test("at the default caps, with no collector: 100,000 spans, at most 10,000 kept, memory flat, the end within its 5 s", async () => {
  const gone = await startCollector();
  await gone[Symbol.asyncDispose]();
  const telemetry = await startTelemetry({ service: "test", endpoint: gone.endpoint });
  const text = "x".repeat(200);
  const before = process.memoryUsage().rss;
  for (let index = 0; index < 100_000; index++) {
    await withSpan("work", (span) => Promise.resolve(span.setAttributes({ index, text })));
    if (index % 1000 === 0) expect(telemetry.stats().waiting).toBeLessThanOrEqual(10_000);
  }
  expect(telemetry.stats()).toMatchObject({ waiting: 10_000, delivered: 0, lost: { full: 90_000 } });
  // 10,000 spans take some 30 MB; 100,000 would take 300.
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 2 ** 20);
  await telemetry.shutdown();
  expect(telemetry.stats()).toEqual({ waiting: 0, delivered: 0, lost: { full: 90_000, shutdown: 10_000 } });
});

test("a collector that fails at random: every span is delivered once or counted as lost", async () => {
  await using collector = await startCollector();
  const random = seededRandom(7);
  const telemetry = await startTelemetry({ service: "test", endpoint: collector.endpoint, delayMs: 5, metricsIntervalMs: 3_600_000 });
  for (let round = 0; round < 15; round++) {
    const fate = random();
    collector.answers.push(fate < 0.25 ? 503 : fate < 0.4 ? "reset" : fate < 0.55 ? 429 : fate < 0.75 ? 400 : 200);
    for (let index = 0; index < 100; index++) await withSpan("work", () => Promise.resolve());
    await telemetry.flush();
  }
  await telemetry.shutdown();
  const { delivered, lost, waiting } = telemetry.stats();
  const spans = collector.spans();
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  expect([delivered, delivered + (lost.refused ?? 0), waiting]).toEqual([spans.length, 1500, 0]);
  expect(lost.refused).toBeGreaterThan(0);
});
