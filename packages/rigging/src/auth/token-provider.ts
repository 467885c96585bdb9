import type { Secret } from "../secrets.js";

/** What a client shows a server. */
export interface Token {
  /** The token itself. */
  readonly secret: Secret;
  /** When it ends, in milliseconds since 1970. Default: never. */
  readonly expiresAt?: number;
}

/** Where a client has its token from; asked before every use, so that a token may end while the client lives on. */
export interface TokenProvider {
  /**
   * A token that holds now.
   *
   * @param options - `signal` ends this caller's wait
   * @throws MarinError RIGGING_TOKEN_UNAVAILABLE, RIGGING_NO_CREDENTIALS; the signal's reason
   */
  token(options?: { readonly signal?: AbortSignal }): Promise<Token>;
}

/**
 * A token that never changes.
 *
 * @param secret - what `SecretStore.get` returned
 */
export function staticToken(secret: Secret): TokenProvider {
  return { token: () => Promise.resolve({ secret }) };
}

/**
 * The headers that carry a provider's token.
 *
 * @param options - `header`, default "authorization"; `scheme`, what stands before the token, default "Bearer" ("" for none); `signal`
 * @returns for `fetch` and Node's clients
 * @throws as the provider
 */
export async function tokenHeaders(provider: TokenProvider, options: { readonly header?: string; readonly scheme?: string; readonly signal?: AbortSignal } = {}): Promise<Record<string, string>> {
  const { header = "authorization", scheme = "Bearer", signal } = options;
  const { secret } = await provider.token(signal === undefined ? {} : { signal });
  return { [header]: scheme === "" ? secret.reveal() : `${scheme} ${secret.reveal()}` };
}
