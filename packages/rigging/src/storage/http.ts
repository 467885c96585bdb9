import { MarinError } from "@marin/ducky";
import { openRange, request, sizeOf, versionOf } from "./http-request.js";
import { rangeOf, untilAborted } from "./range.js";
import { remoteError, statusOf, type StoreAdvice } from "./remote-error.js";
import { resumed } from "./resume.js";
import type { ReadOptions, StorageDriver, StorageEntry, StorageStat } from "./storage.js";

/** How to read from web servers. */
export interface HttpOptions {
  /** How often a request is tried again after a failure that may pass. Default 3. */
  readonly maxRetries?: number;
  /** How long to wait for the next bytes before the rest is asked for anew, in milliseconds. Default 60,000. */
  readonly stallMs?: number;
}

const advice: StoreAdvice = { credentials: "web pages are read without any", permission: "web pages are read without credentials" };

/**
 * Files of web servers, by http: and https: URLs, to read only. A file that changes while it is read is an error, as far as the server
 * names its version (ETag, Last-Modified) or its size.
 */
export class HttpStorage implements StorageDriver {
  readonly #maxRetries: number;
  readonly #stallMs: number;

  /** @param options - how hard to try */
  constructor({ maxRetries = 3, stallMs = 60_000 }: HttpOptions = {}) {
    this.#maxRetries = maxRetries;
    this.#stallMs = stallMs;
  }

  async *stream(path: string, options: ReadOptions): AsyncGenerator<Uint8Array> {
    const range = rangeOf(path, options);
    const { version, signal } = options;
    const { url, shown } = parseUrl(path);
    try {
      if (range.start === range.end) {
        if ((await this.stat(path, { signal })) === undefined) throw new MarinError("RIGGING_NOT_FOUND", `Cannot read ${shown}: there is no such file.`, { data: { path: shown } });
        return;
      }
      const open = (wanted: typeof range, _known: string | undefined, stop: AbortSignal): ReturnType<typeof openRange> => openRange({ url, path: shown, maxRetries: this.#maxRetries, stallMs: this.#stallMs, signal: stop }, wanted);
      yield* untilAborted(resumed({ path: shown, range, version, signal, maxRetries: this.#maxRetries, stallMs: this.#stallMs, open }), signal);
    } catch (error) {
      throw remoteError(error, { action: "read", path: shown }, advice);
    }
  }

  async stat(path: string, { signal }: { readonly signal?: AbortSignal | undefined }): Promise<StorageStat | undefined> {
    const { url, shown } = parseUrl(path);
    try {
      const response = await request({ url, path: shown, method: "HEAD", maxRetries: this.#maxRetries, stallMs: this.#stallMs, signal });
      const bytes = sizeOf(response);
      if (bytes !== undefined) return { bytes, version: versionOf(response.headers, bytes) };
    } catch (error) {
      if (statusOf(error) === 404 || statusOf(error) === 410) return undefined;
      // Some servers know no HEAD.
      if (![403, 405, 501].includes(statusOf(error) ?? 0)) throw remoteError(error, { action: "read", path: shown }, advice);
    }
    return this.#statByRange(url, shown, signal);
  }

  // eslint-disable-next-line require-yield -- it only refuses
  async *list(prefix: string): AsyncGenerator<StorageEntry> {
    throw new MarinError("RIGGING_UNSUPPORTED", `Cannot list ${parseUrl(prefix).shown}: web servers give no listings; name the files, "{a,b}" and "{00..15}" included.`, { data: { path: parseUrl(prefix).shown, action: "list" } });
  }

  async #statByRange(url: string, shown: string, signal: AbortSignal | undefined): Promise<StorageStat | undefined> {
    const stop = new AbortController();
    try {
      const opened = await openRange({ url, path: shown, maxRetries: this.#maxRetries, stallMs: this.#stallMs, signal: signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]) }, { start: 0, end: 1 });
      if (opened === undefined) return { bytes: 0, version: "empty" };
      if (opened.size === undefined) throw new MarinError("RIGGING_STORAGE_FAILED", `Cannot tell the size of ${shown}: the server does not say; read it whole.`, { data: { path: shown } });
      return { bytes: opened.size, version: opened.version ?? "" };
    } catch (error) {
      if (statusOf(error) === 404 || statusOf(error) === 410) return undefined;
      throw remoteError(error, { action: "read", path: shown }, advice);
    } finally {
      stop.abort();
    }
  }
}

/** A URL to ask for, and to show: what stands behind "?" may be a signature. @throws MarinError RIGGING_BAD_PATH */
function parseUrl(path: string): { readonly url: string; readonly shown: string } {
  const url = URL.canParse(path) ? new URL(path) : undefined;
  const shown = path.replace(/[?#].*$/s, (rest) => (rest.startsWith("?") ? "?..." : "")).replace(/\/\/[^/@]*@/, "//...@");
  if (url === undefined || url.hostname === "") throw new MarinError("RIGGING_BAD_PATH", `${shown} is no URL: it has the form https://host/name.`, { data: { path: shown } });
  if (url.username !== "" || url.password !== "") throw new MarinError("RIGGING_BAD_PATH", `${shown} holds a user's name or password, which do not belong into a path.`, { data: { path: shown } });
  return { url: url.href, shown };
}
