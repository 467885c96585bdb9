import { setTimeout as delay } from "node:timers/promises";
import { MarinError } from "@marin/rigging";
import { z } from "zod";
import type { TextScore } from "./score-texts.js";

/** Texts to be scored by a running server. */
export interface RemoteScoring {
  /** The server's address, or undefined when it isn't there. */
  readonly resolve: () => Promise<string | undefined>;
  /** Its name; for messages. */
  readonly endpoint: string;
  readonly token: string | undefined;
  readonly texts: readonly string[];
  readonly signal: AbortSignal;
}

/** Milliseconds between two requests to a server that has too many. */
const RETRY_MS = 1000;

const answerSchema = z.object({
  data: z.array(z.object({ tokens: z.int(), bytes: z.int(), nats: z.number(), bits_per_byte: z.number().nullable() })),
});

const errorSchema = z.object({ error: z.object({ message: z.string(), code: z.string() }) });

/**
 * Has a running server score texts; waits while it has too many requests.
 *
 * @throws MarinError MARIN_SCORE_SERVER when it isn't there, goes away, or refuses
 */
export async function scoreRemotely({ resolve, endpoint, token, texts, signal }: RemoteScoring): Promise<readonly TextScore[]> {
  for (;;) {
    const url = await resolve();
    if (url === undefined) throw failed(endpoint, "isn't running");
    const headers = { "Content-Type": "application/json", ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) };
    const response = await fetch(`${url}/v1/score`, { method: "POST", headers, body: JSON.stringify({ texts }), signal }).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw failed(endpoint, "went away", cause);
    });
    const answer: unknown = await response.json();
    if (response.status === 429) {
      await delay(RETRY_MS, undefined, { signal });
      continue;
    }
    if (response.ok) return answerSchema.parse(answer).data;
    const { error } = errorSchema.parse(answer);
    throw failed(endpoint, `refused: ${error.message} (${error.code})`);
  }
}

function failed(endpoint: string, problem: string, cause?: unknown): MarinError {
  return new MarinError("MARIN_SCORE_SERVER", `the model server "${endpoint}" ${problem}`, { data: { endpoint }, cause });
}
