import { readFile, stat } from "node:fs/promises";
import { MarinError, isMarinError } from "@marin/ducky";
import { writeFileAtomic } from "../files/write-atomic.js";
import type { Logger } from "../log.js";
import { Secret } from "../secrets.js";
import { type Clock, systemClock } from "../time/clock.js";
import type { Token, TokenProvider } from "./token-provider.js";

/** Settings of {@link refreshingToken}. */
export interface RefreshingTokenOptions {
  /** What the token is called, in messages and where it is masked: "cluster token". */
  readonly name: string;
  /**
   * Gets a new token.
   *
   * @returns the token, and when it ends, in milliseconds since 1970
   */
  readonly fetch: () => Promise<{ readonly value: string; readonly expiresAt: number }>;
  /** A token that ends within so many milliseconds is renewed. Default 300 000. */
  readonly marginMs?: number;
  /** Milliseconds from a renewal that failed to the next, while the old token still holds. Default 30 000. */
  readonly retryMs?: number;
  /** A file that keeps the token for later processes, readable for its owner only; its directory must exist. Default: none. */
  readonly cacheFile?: string;
  /** Told when a renewal or the file fails. Default: nobody. */
  readonly log?: Logger;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * A token that is renewed before it ends. One renewal runs at a time, whoever asks; while the old token holds it is served at once, also when its
 * renewal fails. A cache file that others may read, or that does not hold what it should, is not used.
 */
export function refreshingToken(options: RefreshingTokenOptions): TokenProvider {
  const { name, marginMs = 300_000, retryMs = 30_000, cacheFile, log, clock = systemClock } = options;
  let current: Token | undefined;
  let renewal: Promise<Token> | undefined;
  let nextTry = -Infinity;

  const left = (token: Token | undefined): number => (token === undefined ? 0 : (token.expiresAt ?? Infinity) - clock.now());

  async function renew(): Promise<Token> {
    const cached = cacheFile === undefined ? undefined : await readCache(cacheFile, name).catch((error: unknown) => void log?.warn("token cache not read", { file: cacheFile, error }));
    if (left(cached) > marginMs) return (current = cached as Token);
    try {
      const { value, expiresAt } = await options.fetch();
      current = { secret: new Secret(name, value), expiresAt };
    } catch (error) {
      nextTry = clock.monotonic() + retryMs;
      // What another process left may hold long enough for this one.
      if (left(cached) > left(current)) current = cached;
      if (current !== undefined && left(current) > 0) {
        log?.warn("token not renewed; the old one still holds", { token: name, error });
        return current;
      }
      if (isMarinError(error)) throw error;
      throw new MarinError("RIGGING_TOKEN_UNAVAILABLE", `No ${name} is to be had: ${error instanceof Error ? error.message : String(error)}`, { data: { token: name }, cause: error });
    }
    if (cacheFile !== undefined) await writeCache(cacheFile, current).catch((error: unknown) => void log?.warn("token cache not written", { file: cacheFile, error }));
    return current;
  }

  function renewOnce(): Promise<Token> {
    renewal ??= renew().finally(() => (renewal = undefined));
    return renewal;
  }

  return {
    async token({ signal } = {}) {
      signal?.throwIfAborted();
      if (current !== undefined && left(current) > marginMs) return current;
      if (current !== undefined && left(current) > 0) {
        if (clock.monotonic() >= nextTry) renewOnce().catch(() => undefined);
        return current;
      }
      return await (signal === undefined ? renewOnce() : abortable(renewOnce(), signal));
    },
  };
}

async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
  });
  return await Promise.race([work, aborted]).finally(() => signal.removeEventListener("abort", abort));
}

async function writeCache(path: string, { secret, expiresAt }: Token): Promise<void> {
  await writeFileAtomic(path, JSON.stringify({ value: secret.reveal(), expiresAt }), { mode: 0o600 });
}

async function readCache(path: string, name: string): Promise<Token | undefined> {
  let text: string;
  try {
    const { mode, uid } = await stat(path);
    const ours = process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0);
    if (!ours) throw new MarinError("RIGGING_BAD_CACHE", `The token's file is not this user's alone: ${path}.`, { data: { path } });
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  // JSON.parse's own message would show the text.
  const bad = new MarinError("RIGGING_BAD_CACHE", `The token's file does not hold a token: ${path}.`, { data: { path } });
  let found: { readonly value?: unknown; readonly expiresAt?: unknown } | null;
  try {
    found = JSON.parse(text) as typeof found;
  } catch {
    throw bad;
  }
  const { value, expiresAt } = found ?? {};
  if (typeof value !== "string" || value === "" || typeof expiresAt !== "number") throw bad;
  return { secret: new Secret(name, value), expiresAt };
}
