import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { MarinError } from "@marin/ducky";
import type { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from "prom-client";

/** What tells apart the series of one metric: `{ state: "failed" }`. */
export type Labels = Readonly<Record<string, string | number>>;

/** Counts up. */
export interface Counter {
  /**
   * Adds to the count.
   *
   * @param amount - at least 0. Default 1
   * @param labels - a value for each of the metric's labels
   * @throws MarinError RIGGING_BAD_METRIC
   */
  add(amount?: number, labels?: Labels): void;
}

/** A value that goes up and down. */
export interface Gauge {
  /** Sets the value. @throws MarinError RIGGING_BAD_METRIC */
  set(value: number, labels?: Labels): void;
}

/** How values are spread. */
export interface Histogram {
  /** Takes a value. @throws MarinError RIGGING_BAD_METRIC */
  observe(value: number, labels?: Labels): void;
}

/** What a metric is. */
export interface MetricOptions {
  /** Letters, digits and "_", the unit last: "jobs_total", "step_seconds". */
  readonly name: string;
  /** What it measures, for people. */
  readonly help: string;
  /** Names of the labels. Default none. */
  readonly labels?: readonly string[];
}

/** What a histogram is. */
export interface HistogramOptions extends MetricOptions {
  /** Upper ends of the buckets, rising. Default: from 5 ms to 10 s, in seconds. */
  readonly buckets?: readonly number[];
}

/** A page of metrics that is served. */
export interface MetricsServer extends AsyncDisposable {
  /** Where it is: "http://127.0.0.1:20713/metrics". */
  readonly url: string;
  /** Stops serving. */
  close(): Promise<void>;
}

type Metric = PromCounter | PromGauge | PromHistogram;

type Library = typeof import("prom-client");

/** Measurements that nobody has taken yet. The library that writes the page is loaded here, not before. */
export async function createMetrics(): Promise<Metrics> {
  return new ProcessMetrics(await import("prom-client"));
}

/**
 * Measurements of a process, as a page that Prometheus reads. Asking for a metric again gives the same one. Values are
 * numbers and labels only: nothing secret belongs into them.
 */
export interface Metrics {
  /**
   * A count by name.
   *
   * @throws MarinError RIGGING_BAD_METRIC when the name cannot be one, or the metric is known as something else
   */
  counter(options: MetricOptions): Counter;
  /** A gauge by name. @throws MarinError RIGGING_BAD_METRIC */
  gauge(options: MetricOptions): Gauge;
  /** A histogram by name. @throws MarinError RIGGING_BAD_METRIC */
  histogram(options: HistogramOptions): Histogram;
  /** The page: Prometheus's text format, version 0.0.4. */
  page(): Promise<string>;
  /**
   * Serves the page at /metrics.
   *
   * @param options - `host`, default 127.0.0.1; `port`, default any that is free
   * @throws MarinError RIGGING_PORT_TAKEN
   */
  serve(options?: { readonly host?: string; readonly port?: number }): Promise<MetricsServer>;
}

class ProcessMetrics implements Metrics {
  readonly #library: Library;
  readonly #registry: Registry;
  readonly #known = new Map<string, { readonly metric: Metric; readonly signature: string }>();

  constructor(library: Library) {
    this.#library = library;
    this.#registry = new library.Registry();
  }

  counter(options: MetricOptions): Counter {
    const metric = this.#metric(options, "counter", (settings) => new this.#library.Counter(settings));
    return { add: (amount = 1, labels = {}) => record(options.name, () => (metric as PromCounter).inc({ ...labels }, amount)) };
  }

  gauge(options: MetricOptions): Gauge {
    const metric = this.#metric(options, "gauge", (settings) => new this.#library.Gauge(settings));
    return { set: (value, labels = {}) => record(options.name, () => (metric as PromGauge).set({ ...labels }, value)) };
  }

  histogram({ buckets, ...options }: HistogramOptions): Histogram {
    const metric = this.#metric(options, `histogram ${String(buckets)}`, (settings) => new this.#library.Histogram({ ...settings, ...(buckets === undefined ? {} : { buckets: [...buckets] }) }));
    return { observe: (value, labels = {}) => record(options.name, () => (metric as PromHistogram).observe({ ...labels }, value)) };
  }

  page(): Promise<string> {
    return this.#registry.metrics();
  }

  async serve({ host = "127.0.0.1", port = 0 }: { readonly host?: string; readonly port?: number } = {}): Promise<MetricsServer> {
    const server = createServer((request, response) => {
      if (request.url !== "/metrics") return void response.writeHead(404).end();
      void this.page().then((page) => response.writeHead(200, { "content-type": this.#registry.contentType }).end(page));
    });
    server.listen(port, host);
    await once(server, "listening").catch((cause: unknown) => {
      throw new MarinError("RIGGING_PORT_TAKEN", `Cannot serve metrics on ${host}:${String(port)}: ${cause instanceof Error ? cause.message : String(cause)}.`, { data: { host, port }, cause });
    });
    const close = (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    return { url: `http://${host}:${String((server.address() as AddressInfo).port)}/metrics`, close, [Symbol.asyncDispose]: close };
  }

  #metric(options: MetricOptions, kind: string, make: (settings: { name: string; help: string; labelNames: string[]; registers: Registry[] }) => Metric): Metric {
    const { name, help, labels = [] } = options;
    const signature = `${kind} of [${labels.join(", ")}]`;
    const known = this.#known.get(name);
    if (known?.signature === signature) return known.metric;
    if (known !== undefined) throw new MarinError("RIGGING_BAD_METRIC", `The metric ${name} is known as a ${known.signature}, and is asked for as a ${signature}: use another name.`, { data: { name } });
    const metric = record(name, () => make({ name, help, labelNames: [...labels], registers: [this.#registry] }));
    this.#known.set(name, { metric, signature });
    return metric;
  }
}

function record<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new MarinError("RIGGING_BAD_METRIC", `The metric ${name}: ${cause instanceof Error ? cause.message : String(cause)}.`, { data: { name }, cause });
  }
}
