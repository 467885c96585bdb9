import { MarinError } from "@marin/ducky";
import { refreshingToken } from "./refreshing-token.js";
import type { TokenProvider } from "./token-provider.js";

/** Google's tokens hold for an hour, and the metadata server hands out one until shortly before its end. */
const assumedLifeMs = 300_000;

/**
 * Access tokens of the Google account that this process has: that of `gcloud auth application-default login`, of
 * GOOGLE_APPLICATION_CREDENTIALS, or of the machine. Google's library is loaded on first use.
 *
 * @param options - `scopes`, default "https://www.googleapis.com/auth/cloud-platform"
 */
export function googleTokens({ scopes = ["https://www.googleapis.com/auth/cloud-platform"] }: { readonly scopes?: readonly string[] } = {}): TokenProvider {
  return refreshingToken({
    name: "Google access token",
    marginMs: 60_000,
    fetch: async () => {
      const { GoogleAuth } = await import("google-auth-library");
      try {
        const client = await new GoogleAuth({ scopes: [...scopes] }).getClient();
        const { token } = await client.getAccessToken();
        if (typeof token !== "string") throw new Error("the answer holds no token");
        return { value: token, expiresAt: client.credentials.expiry_date ?? Date.now() + assumedLifeMs };
      } catch (error) {
        // The library's errors hold the request, its credentials included: they are no cause of ours.
        const message = error instanceof Error ? error.message.split("\n", 1)[0] ?? "" : "";
        throw new MarinError("RIGGING_NO_CREDENTIALS", `No access to Google: run \`gcloud auth application-default login\`, or set GOOGLE_APPLICATION_CREDENTIALS. (${message.slice(0, 200)})`);
      }
    },
  });
}
