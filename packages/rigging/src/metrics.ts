import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { MarinError, isMarinError } from "@marin/ducky";
import type { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from "prom-client";
import { authRequest } from "./auth/authenticator.js";
import type { AuthChain } from "./auth/chain.js";
import { isLoopback } from "./auth/loopback.js";

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

/** A metric's measurements at one moment. */
export type MetricSnapshot =
  | { readonly name: string; readonly help: string; readonly kind: "counter" | "gauge"; readonly series: readonly { readonly labels: Labels; readonly value: number }[] }
  | { readonly name: string; readonly help: string; readonly kind: "histogram"; readonly series: readonly HistogramSeries[] };

/** A histogram's values of one set of labels. */
export interface HistogramSeries {
  readonly labels: Labels;
  readonly count: number;
  readonly sum: number;
  /** Upper ends of the buckets, rising; the last bucket, above all of them, has none. */
  readonly bounds: readonly number[];
  /** Values in each bucket, one more than there are bounds. */
  readonly counts: readonly number[];
}

type Metric = PromCounter | PromGauge | PromHistogram;

type Library = typeof import("prom-client");

/**
 * Measurements that nobody has taken yet. The library that writes the page is loaded here, not before.
 *
 * @param options - `process`: measure this process too (processor, memory, event loop, open files; names begin with process_ and nodejs_). Default false
 */
export async function createMetrics(options: { readonly process?: boolean } = {}): Promise<Metrics> {
  const library = await import("prom-client");
  const registry = new library.Registry();
  if (options.process === true) library.collectDefaultMetrics({ register: registry });
  return new ProcessMetrics(library, registry);
}

/** How a page of metrics is served. */
export interface MetricsServerOptions {
  /** Address to listen on. Default: 127.0.0.1; one that other machines can reach needs `auth`. */
  readonly host?: string;
  /** Port. Default: any that is free. */
  readonly port?: number;
  /** Who may read it: whoever has the scope metrics:read. Default: everybody on this machine. */
  readonly auth?: AuthChain;
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
  /** All measurements as they are now, in the order in which the metrics were asked for. */
  snapshot(): Promise<readonly MetricSnapshot[]>;
  /**
   * Serves the page at /metrics.
   *
   * @throws MarinError RIGGING_PORT_TAKEN; RIGGING_AUTH_REQUIRED for an address that other machines can reach, without `auth`
   */
  serve(options?: MetricsServerOptions): Promise<MetricsServer>;
}

class ProcessMetrics implements Metrics {
  readonly #library: Library;
  readonly #registry: Registry;
  readonly #known = new Map<string, { readonly metric: Metric; readonly signature: string }>();

  constructor(library: Library, registry: Registry) {
    this.#library = library;
    this.#registry = registry;
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

  async snapshot(): Promise<readonly MetricSnapshot[]> {
    const found = await this.#registry.getMetricsAsJSON();
    return found.map((metric) => toSnapshot(metric as unknown as PromMetric));
  }

  async serve({ host = "127.0.0.1", port = 0, auth }: MetricsServerOptions = {}): Promise<MetricsServer> {
    if (auth === undefined && !isLoopback(host)) {
      throw new MarinError("RIGGING_AUTH_REQUIRED", `Metrics on ${host} would be open to other machines: give \`auth\`, or listen on 127.0.0.1.`, { data: { host } });
    }
    const server = createServer((request, response) => void this.#answer(request, response, auth));
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

  async #answer(request: IncomingMessage, response: ServerResponse, auth: AuthChain | undefined): Promise<void> {
    try {
      await auth?.authorize(authRequest(request), { scope: "metrics:read" });
      if (request.url?.split("?")[0] !== "/metrics") return void response.writeHead(404).end();
      if (request.method !== "GET" && request.method !== "HEAD") return void response.writeHead(405, { allow: "GET, HEAD" }).end();
      const page = await this.page();
      response.writeHead(200, { "content-type": this.#registry.contentType }).end(page);
    } catch (error) {
      const { status = 500, challenge } = (isMarinError(error) ? error.data : {}) as { readonly status?: number; readonly challenge?: string };
      response.writeHead(status, challenge === undefined ? {} : { "www-authenticate": challenge }).end();
    }
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

/** What prom-client tells of a metric. Its own type knows neither histograms' parts nor strings for kinds. */
interface PromMetric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly values: readonly { readonly labels: Readonly<Record<string, string | number>>; readonly value: number; readonly metricName?: string }[];
}

function toSnapshot({ name, help, type, values }: PromMetric): MetricSnapshot {
  if (type !== "histogram") return { name, help, kind: type, series: values.map(({ labels, value }) => ({ labels, value })) };
  const series = new Map<string, { labels: Labels; count: number; sum: number; bounds: number[]; counts: number[] }>();
  for (const { labels: { le, ...labels }, value, metricName } of values) {
    const key = JSON.stringify(labels);
    const one = series.get(key) ?? { labels, count: 0, sum: 0, bounds: [], counts: [] };
    series.set(key, one);
    if (metricName === `${name}_sum`) one.sum = value;
    else if (metricName === `${name}_count`) one.count = value;
    else {
      // The page counts all values up to a bound; here each bucket counts its own.
      one.counts.push(value - one.counts.reduce((sum, count) => sum + count, 0));
      if (le !== "+Inf") one.bounds.push(Number(le));
    }
  }
  return { name, help, kind: "histogram", series: [...series.values()] };
}
