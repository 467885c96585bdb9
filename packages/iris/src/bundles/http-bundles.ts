import { MarinError } from "../platform.js";
import type { Bundle } from "./bundle.js";
import type { BundleSource } from "./bundle-store.js";

/** How to reach a controller's server. */
export interface ControllerAddress {
  /** "http://head:7733". */
  readonly url: string;
  /** What it asks for. Default: nothing. */
  readonly token?: string | undefined;
}

/**
 * The bundles of a controller's server.
 *
 * @param address - where it is
 */
export function httpBundles(address: ControllerAddress): BundleSource & { put(bundle: Bundle, signal?: AbortSignal): Promise<void> } {
  const at = (digest: string): string => `/bundles/${encodeURIComponent(digest)}`;
  return {
    async put({ digest, data }, signal) {
      const there = await callController(address, at(digest), { method: "HEAD", signal: signal ?? null }).catch(() => undefined);
      if (there === undefined) await callController(address, at(digest), { method: "PUT", body: data as Uint8Array<ArrayBuffer>, signal: signal ?? null });
    },
    async *read(digest, { signal } = {}) {
      const { body } = await callController(address, at(digest), { signal: signal ?? null });
      if (body !== null) yield* body as unknown as AsyncIterable<Uint8Array>;
    },
  };
}

/**
 * Asks a controller's server over HTTP.
 *
 * @param path - beginning with "/"
 * @throws MarinError with the code and the message that the server answers; IRIS_NO_CONTROLLER when it does not
 */
export async function callController({ url, token }: ControllerAddress, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string> | undefined), ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) };
  let response: Response;
  try {
    response = await fetch(new URL(path, url), { ...init, headers, redirect: "error" });
  } catch (cause) {
    init.signal?.throwIfAborted();
    throw new MarinError("IRIS_NO_CONTROLLER", `The controller at ${url} does not answer: ${reasonOf(cause)}.`, { data: { url }, cause });
  }
  if (response.ok) return response;
  const { code, message } = await told(response);
  throw new MarinError(code, message, { data: { status: response.status } });
}

async function told(response: Response): Promise<{ readonly code: string; readonly message: string }> {
  const text = await response.text().catch(() => "");
  try {
    const { error } = JSON.parse(text) as { readonly error: { readonly code: string; readonly message: string } };
    if (typeof error.code === "string" && typeof error.message === "string") return error;
  } catch {
    // No answer of this program.
  }
  return { code: response.status === 404 ? "IRIS_NO_BUNDLE" : "IRIS_NO_CONTROLLER", message: `The server answered ${String(response.status)}: ${text.slice(0, 200)}` };
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message : message;
}
