import { type TokenProvider, tokenHeaders } from "../auth/token-provider.js";
import type { SendResult } from "./delivery.js";

/** How a collector is reached. */
export interface CollectorOptions {
  /** Where its OTLP over HTTP is: "http://127.0.0.1:4318". */
  readonly endpoint: string;
  /** Who we are to it. Default: nobody. */
  readonly tokens?: TokenProvider;
  /** More headers. Nothing secret: give `tokens`. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long it may take to answer, in milliseconds. Default 10 000. */
  readonly requestTimeoutMs?: number;
}

/**
 * Sends one batch as OTLP over HTTP. The header Idempotency-Key has the batch's id.
 *
 * @throws what fetch throws
 */
export async function sendToCollector({ endpoint, tokens, headers = {}, requestTimeoutMs = 10_000 }: CollectorOptions, kind: string, body: Uint8Array, id: string, signal: AbortSignal): Promise<SendResult> {
  const answer = await fetch(`${endpoint.replace(/\/+$/, "")}/v1/${kind}`, {
    method: "POST",
    headers: { ...headers, ...(tokens === undefined ? {} : await tokenHeaders(tokens, { signal })), "content-type": "application/json", "idempotency-key": id },
    body: body as Uint8Array<ArrayBuffer>,
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]),
    redirect: "error",
  });
  await answer.body?.cancel();
  if (answer.ok) return "delivered";
  if (answer.status < 500 && answer.status !== 429) return "refused";
  const seconds = Number(answer.headers.get("retry-after") ?? NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? { retryAfterMs: seconds * 1000 } : {};
}
