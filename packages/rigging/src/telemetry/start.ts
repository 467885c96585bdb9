import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { MarinError } from "@marin/ducky";
import type { Logger } from "../log.js";
import type { Metrics } from "../metrics.js";
import { toPlain } from "../redaction/plain.js";
import { redactor } from "../redaction/redactor.js";
import { backgroundClock } from "../time/clock.js";
import { RateLimiter } from "../time/token-bucket.js";
import { Delivery, type LossReason } from "./delivery.js";
import { type CollectorOptions, sendToCollector } from "./http-send.js";
import { currentTracing, setTracing } from "./trace.js";

/** Settings of {@link startTelemetry}. */
export interface TelemetryOptions extends CollectorOptions {
  /** Name of the program: "iris-controller". */
  readonly service: string;
  /** What else tells this process from others: job, attempt, host. Default: nothing. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /** Measurements that are sent too, and to which telemetry adds its own: records sent and lost. Default: none. */
  readonly metrics?: Metrics;
  /** Milliseconds between sendings of the measurements. Default 15 000. */
  readonly metricsIntervalMs?: number;
  /** Part of the traces that begin here which is recorded, 0 to 1; others follow their parents. Default 1. */
  readonly sampleRatio?: number;
  /** Records that wait, at most; further ones are dropped. Default 10 000. */
  readonly maxRecords?: number;
  /** Their bytes, at most, by estimate. Default 16 MiB. */
  readonly maxBytes?: number;
  /** How long a batch waits for more, in milliseconds. Default 1 000. */
  readonly delayMs?: number;
  /** How long a batch is tried for while the collector is down, in milliseconds. Default 300 000. */
  readonly retryMs?: number;
  /** How long the end may take, in milliseconds. Default, and at most, 5 000. */
  readonly shutdownMs?: number;
  /** Told of losses, at most once a minute. Default: nobody. */
  readonly log?: Logger;
}

/** How telemetry fares. */
export interface TelemetryStats {
  /** Records that wait or are under way. */
  readonly waiting: number;
  /** Records that the collector took. */
  readonly delivered: number;
  /** Records that were lost, by reason. */
  readonly lost: Readonly<Partial<Record<LossReason, number>>>;
}

/** Telemetry that runs. */
export interface Telemetry extends AsyncDisposable {
  /** How it fares. */
  stats(): TelemetryStats;
  /** Sends the measurements as they are now, and waits until all records were delivered or lost. */
  flush(): Promise<void>;
  /** Sends what is there, within 5 s, and ends. Never throws. */
  shutdown(): Promise<void>;
}

/** Larger batches are split. */
const batchRecords = 1000;
const batchBytes = 2 ** 20;
const maxShutdownMs = 5000;
const reportLossMs = 60_000;

/**
 * Begins to record spans ({@link withSpan}, and OpenTelemetry's own API) and to send them and measurements to a collector, by OTLP over HTTP. OpenTelemetry is
 * loaded here. Nothing that is recorded waits for the collector or fails because of it: what does not fit is dropped, and the loss is counted and told.
 *
 * @throws MarinError RIGGING_TELEMETRY_RUNS when it was started already, RIGGING_BAD_OPTION for an endpoint that is no http(s) URL
 */
export async function startTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { service, attributes = {}, metrics, log, sampleRatio = 1, maxRecords = 10_000, maxBytes = 16 * 2 ** 20, delayMs = 1000, retryMs = 300_000, metricsIntervalMs = 15_000, shutdownMs = maxShutdownMs } = options;
  if (!/^https?:\/\/[^@]+$/.test(options.endpoint) || !URL.canParse(options.endpoint)) throw new MarinError("RIGGING_BAD_OPTION", "The collector's endpoint must be an http or https URL without password: http://127.0.0.1:4318.", { data: { option: "endpoint" } });
  if (currentTracing() !== undefined) throw new MarinError("RIGGING_TELEMETRY_RUNS", "Telemetry runs already in this process: shut it down first.");
  const [api, { TracerProvider, ParentBasedSampler, TraceIdRatioBasedSampler }, sdkMetrics, { AsyncLocalStorageContextManager }, { JsonMetricsSerializer, JsonTraceSerializer }, { resourceFromAttributes }, { metricBridge }, { otelTracing, redactedSpan, spanBytes }] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/sdk-metrics"),
    import("@opentelemetry/context-async-hooks"),
    import("@opentelemetry/otlp-transformer"),
    import("@opentelemetry/resources"),
    import("./metric-bridge.js"),
    import("./otel.js"),
  ]);
  const own = ownMetrics(metrics);
  const stats = { delivered: 0, lost: {} as Partial<Record<LossReason, number>> };
  const lossReports = new RateLimiter(reportLossMs);
  let untold = 0;

  const delivery = new Delivery<ReadableSpan | Uint8Array>({
    encode: (kind, contents) => (kind === "traces" ? JsonTraceSerializer.serializeRequest(contents.map((span) => redactedSpan(span as ReadableSpan, redactor))) : (contents[0] as Uint8Array)) ?? new Uint8Array(),
    send: (kind, body, id, signal) => sendToCollector(options, kind, body, id, signal),
    maxRecords,
    maxBytes,
    batchRecords,
    batchBytes,
    delayMs,
    retryMs,
    clock: backgroundClock,
    onDelivered: (kind, records) => {
      stats.delivered += records;
      own?.delivered.add(records, { signal: kind });
    },
    onLost: (kind, records, reason) => {
      stats.lost[reason] = (stats.lost[reason] ?? 0) + records;
      own?.lost.add(records, { signal: kind, reason });
      untold += records;
      if (lossReports.ready() === undefined) return;
      log?.warn("telemetry was lost", { records: untold, reason, signal: kind });
      untold = 0;
    },
    onRetry: () => own?.retries.add(),
  });

  const resource = resourceFromAttributes({ "service.name": service, ...attributes });
  const tracerProvider = new TracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
    spanProcessors: [
      {
        onStart: () => undefined,
        onEnd: (span) => {
          if ((span.spanContext().traceFlags & api.TraceFlags.SAMPLED) !== 0) delivery.offer({ kind: "traces", records: 1, bytes: spanBytes(span), content: span });
        },
        forceFlush: () => Promise.resolve(),
        shutdown: () => Promise.resolve(),
      },
    ],
  });
  const reader = new sdkMetrics.PeriodicExportingMetricReader({
    exportIntervalMillis: metricsIntervalMs,
    exportTimeoutMillis: metricsIntervalMs,
    exporter: {
      export: (found, done) => {
        const records = found.scopeMetrics.reduce((sum, scope) => sum + scope.metrics.reduce((points, { dataPoints }) => points + dataPoints.length, 0), 0);
        if (records > 0) {
          const text = Buffer.from(JsonMetricsSerializer.serializeRequest(found) ?? []).toString("utf8");
          const content = Buffer.from(JSON.stringify(toPlain(JSON.parse(text), redactor)));
          delivery.offer({ kind: "metrics", records: Math.min(records, batchRecords), bytes: content.byteLength, content });
        }
        done({ code: 0 });
      },
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
    },
    ...(metrics === undefined ? {} : { metricProducers: [metricBridge(sdkMetrics, metrics, resource, Date.now(), () => Date.now())] }),
  });
  const meterProvider = new sdkMetrics.MeterProvider({ resource, readers: [reader] });
  // A program that has its own context manager or providers keeps them.
  const ours = [
    api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()) ? () => api.context.disable() : undefined,
    api.trace.setGlobalTracerProvider(tracerProvider) ? () => api.trace.disable() : undefined,
    api.metrics.setGlobalMeterProvider(meterProvider) ? () => api.metrics.disable() : undefined,
  ];
  setTracing(otelTracing(tracerProvider.getTracer("@marin/rigging")));

  let ending: Promise<void> | undefined;
  async function end(): Promise<void> {
    setTracing(undefined);
    await reader.forceFlush().catch(() => undefined);
    await delivery.close(Math.min(shutdownMs, maxShutdownMs));
    await Promise.allSettled([meterProvider.shutdown(), tracerProvider.shutdown()]);
    for (const disable of ours) disable?.();
  }
  const shutdown = (): Promise<void> => (ending ??= end());
  return {
    stats: () => ({ waiting: delivery.records, delivered: stats.delivered, lost: { ...stats.lost } }),
    async flush() {
      await reader.forceFlush().catch(() => undefined);
      await delivery.flush();
    },
    shutdown,
    [Symbol.asyncDispose]: shutdown,
  };
}

function ownMetrics(metrics: Metrics | undefined) {
  if (metrics === undefined) return undefined;
  return {
    delivered: metrics.counter({ name: "telemetry_records_delivered_total", help: "Records that the collector took.", labels: ["signal"] }),
    lost: metrics.counter({ name: "telemetry_records_lost_total", help: "Records that did not reach the collector.", labels: ["signal", "reason"] }),
    retries: metrics.counter({ name: "telemetry_retries_total", help: "Batches that were sent again." }),
  };
}
