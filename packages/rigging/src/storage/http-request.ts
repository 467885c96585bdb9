import { MarinError } from "@marin/ducky";
import { retry } from "../time/retry.js";
import { inTime } from "./ask.js";
import { mayPass } from "./remote-error.js";
import type { Range } from "./range.js";
import type { OpenedBody } from "./resume.js";

/** A request, and how hard to try. */
export interface HttpRequest {
  /** Where. */
  readonly url: string;
  /** For messages. */
  readonly path: string;
  readonly method?: "GET" | "HEAD" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly maxRetries: number;
  /** How long to wait for the answer's head, in milliseconds. */
  readonly stallMs: number;
  readonly signal: AbortSignal | undefined;
}

/** A refusal of a server. */
class HttpRefusal extends Error {
  readonly status: number;
  readonly retryAfterMs: number | undefined;

  constructor(response: Response) {
    super(`HTTP ${String(response.status)} ${response.statusText}`.trim());
    this.status = response.status;
    const seconds = Number(response.headers.get("retry-after") ?? NaN);
    this.retryAfterMs = Number.isFinite(seconds) ? Math.min(seconds, 60) * 1000 : undefined;
  }
}

/** Asks, and again while the failure may pass. @throws an error with `status` for an answer that is no success; the errors of `fetch` */
export async function request({ url, path, method = "GET", headers = {}, body, maxRetries, stallMs, signal }: HttpRequest): Promise<Response> {
  return retry(
    async () => {
      // What is sent is what is stored: a packed body could be neither counted nor continued.
      const response = await inTime((stop) => fetch(url, { method, headers: { "accept-encoding": "identity", ...headers }, redirect: "follow", ...(body === undefined ? {} : { body }), signal: stop }), stallMs, signal);
      const encoding = response.headers.get("content-encoding") ?? "identity";
      if (response.ok && encoding === "identity") return response;
      await response.body?.cancel();
      if (!response.ok) throw new HttpRefusal(response);
      throw new MarinError("RIGGING_STORAGE_FAILED", `Cannot read ${path}: the server packs it (${encoding}) though it was asked not to.`, { data: { path, encoding } });
    },
    { attempts: maxRetries + 1, retryIf: mayPass, minDelayMs: (error) => (error instanceof HttpRefusal ? error.retryAfterMs : undefined), ...(signal === undefined ? {} : { signal }) },
  );
}

/** What an answer says its content is: its ETag, or when it was last modified, and its size. */
export function versionOf(headers: Headers, bytes: number | undefined): string {
  return headers.get("etag") ?? [headers.get("last-modified") ?? "", bytes ?? ""].join(" ");
}

/** The size of the whole content, where the answer names it. */
export function sizeOf(response: Response): number | undefined {
  const total = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1];
  const length = total ?? (response.status === 206 ? undefined : response.headers.get("content-length"));
  return length === undefined || length === null ? undefined : Number(length);
}

/** Asks for a range; a server that does not know ranges sends all, of which the range is taken. Undefined: it begins behind the end. */
export async function openRange(asked: HttpRequest, range: Range): Promise<(OpenedBody & { readonly size: number | undefined }) | undefined> {
  const isWhole = range.start === 0 && range.end === Infinity;
  const headers = isWhole ? asked.headers : { ...asked.headers, range: `bytes=${String(range.start)}-${range.end === Infinity ? "" : String(range.end - 1)}` };
  let response: Response;
  try {
    response = await request({ ...asked, ...(headers === undefined ? {} : { headers }) });
  } catch (error) {
    if (error instanceof HttpRefusal && error.status === 416) return undefined;
    throw error;
  }
  const size = sizeOf(response);
  const version = versionOf(response.headers, size);
  const body = (response.body ?? new ReadableStream<Uint8Array>({ start: (controller) => controller.close() })) as unknown as AsyncIterable<Uint8Array>;
  if (isWhole || response.status === 206) {
    const length = response.headers.get("content-length");
    return { chunks: body, version, size, bytes: length === null ? undefined : Number(length) };
  }
  const bytes = size === undefined ? undefined : Math.max(0, Math.min(range.end, size) - range.start);
  return { chunks: part(body, range), version, size, bytes };
}

async function* part(chunks: AsyncIterable<Uint8Array>, { start, end }: Range): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const chunk of chunks) {
    const wanted = chunk.subarray(Math.max(0, start - at), Math.max(0, Math.min(chunk.length, end - at)));
    if (wanted.length > 0) yield wanted;
    at += chunk.length;
    if (at >= end) return;
  }
}
