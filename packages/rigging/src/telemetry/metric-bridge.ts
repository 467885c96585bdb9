import type { HrTime } from "@opentelemetry/api";
import type { Resource } from "@opentelemetry/resources";
import type { MetricData, MetricProducer } from "@opentelemetry/sdk-metrics";
import type { MetricSnapshot, Metrics } from "../metrics.js";

/** What of the library this file needs; it is loaded by who starts telemetry. */
type Library = Pick<typeof import("@opentelemetry/sdk-metrics"), "AggregationTemporality" | "DataPointType">;

/** Lets OpenTelemetry collect what a {@link Metrics} measures, so that one measurement serves both the page and the collector. */
export function metricBridge(library: Library, metrics: Metrics, resource: Resource, startedAt: number, now: () => number): MetricProducer {
  return {
    async collect() {
      const [startTime, endTime] = [hrTime(startedAt), hrTime(now())];
      const found = (await metrics.snapshot()).map((metric) => toMetricData(library, metric, startTime, endTime));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope: { name: "@marin/rigging" }, metrics: found }] }, errors: [] };
    },
  };
}

function toMetricData({ AggregationTemporality, DataPointType }: Library, metric: MetricSnapshot, startTime: HrTime, endTime: HrTime): MetricData {
  // OpenTelemetry's valueType: 1 is a floating-point number.
  const descriptor = { name: metric.name, description: metric.help, unit: "", valueType: 1 };
  const aggregationTemporality = AggregationTemporality.CUMULATIVE;
  if (metric.kind === "histogram") {
    const dataPoints = metric.series.map(({ labels, count, sum, bounds, counts }) => ({ startTime, endTime, attributes: { ...labels }, value: { buckets: { boundaries: [...bounds], counts: [...counts] }, count, sum } }));
    return { descriptor, aggregationTemporality, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = metric.series.map(({ labels, value }) => ({ startTime, endTime, attributes: { ...labels }, value }));
  if (metric.kind === "gauge") return { descriptor, aggregationTemporality, dataPointType: DataPointType.GAUGE, dataPoints };
  return { descriptor, aggregationTemporality, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
}

function hrTime(milliseconds: number): HrTime {
  return [Math.floor(milliseconds / 1000), Math.round((milliseconds % 1000) * 1e6)];
}
