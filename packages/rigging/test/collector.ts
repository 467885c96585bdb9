import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What arrived in one request. */
export interface Received {
  readonly path: string;
  readonly id: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** How the next request is answered: a status, a broken connection, or not at all. */
export type Answer = number | "reset" | "hang";

/** A collector of telemetry on this machine, that fails when told to. */
export interface Collector extends AsyncDisposable {
  readonly endpoint: string;
  /** All requests, failed ones included. */
  readonly received: Received[];
  /** Answers of the next requests, in turn; afterwards all succeed. */
  readonly answers: Answer[];
  /** Spans of the requests that succeeded. */
  spans(): CollectedSpan[];
  /** Data points by metric, of the last request for metrics that succeeded. */
  metrics(): Record<string, unknown>;
}

/** A span, as OTLP's JSON has it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly { readonly key: string; readonly value: unknown }[];
  readonly events: readonly { readonly name: string; readonly attributes: readonly unknown[] }[];
  readonly status: { readonly code: number; readonly message?: string };
}

/** Starts a collector. */
export async function startCollector(): Promise<Collector> {
  const received: Received[] = [];
  const taken: Received[] = [];
  const answers: Answer[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.on("end", () => {
      const one = { path: request.url ?? "", id: String(request.headers["idempotency-key"]), authorization: request.headers.authorization, body: Buffer.concat(chunks).toString("utf8") };
      received.push(one);
      const answer = answers.shift() ?? 200;
      if (answer === "reset") request.socket.destroy();
      else if (answer !== "hang") {
        if (answer === 200) taken.push(one);
        response.writeHead(answer, answer === 503 ? { "retry-after": "0" } : {}).end("{}");
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const of = (kind: string): unknown[] => taken.filter(({ path }) => path === `/v1/${kind}`).map(({ body }) => JSON.parse(body) as unknown);
  return {
    endpoint: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    received,
    answers,
    spans: () => of("traces").flatMap((body) => (body as { resourceSpans: { scopeSpans: { spans: CollectedSpan[] }[] }[] }).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))),
    metrics: () => {
      const last = of("metrics").at(-1) as { resourceMetrics: { scopeMetrics: { metrics: { name: string }[] }[] }[] } | undefined;
      return Object.fromEntries((last?.resourceMetrics ?? []).flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics.map(({ name, ...rest }) => [name, rest]))));
    },
    [Symbol.asyncDispose]: async () => {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
}
