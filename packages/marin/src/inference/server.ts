import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { isIP } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { MarinError, type Logger } from "@marin/rigging";
import { createApp } from "./app.js";
import type { ServedModel } from "./served-model.js";
import { Slots } from "./slots.js";
import { requireToken } from "./token.js";
import { Work } from "./work.js";

/** Limits of an inference server. */
export interface ServerLimits {
  /** Tokens that one completion may ask for. Default 2,048. */
  readonly maxTokens?: number | undefined;
  /** Size of a request's body in bytes; a completion's is at most 1 MiB in any case. Default 8 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Requests worked on at once; they take turns, token by token. Default 4. */
  readonly concurrency?: number | undefined;
  /** Requests that may wait for their turn; those beyond are refused with status 429. Default 32. */
  readonly queueSize?: number | undefined;
}

/** What an inference server serves, and where. */
export interface ServerOptions extends ServerLimits {
  readonly served: ServedModel;
  /** Name of the model, as clients see it. */
  readonly name: string;
  /** Default 127.0.0.1. Another address than this machine's own needs a token. */
  readonly host?: string | undefined;
  /** Default 0: any that is free. */
  readonly port?: number | undefined;
  /** What clients must show as `Authorization: Bearer <token>`. Default: nothing. */
  readonly token?: string | undefined;
  readonly log: Logger;
  /** Told after every request for a completion or scores. */
  readonly onServed?: (() => void) | undefined;
}

/** A server that answers. */
export interface InferenceServer {
  /** Where: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Takes no more requests, lets those that it has go on for `graceMs`, ends the rest with an error, and closes every connection. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Serves a model over HTTP: `POST /v1/completions`, `POST /v1/score`, `GET /v1/models`, `GET /health`.
 *
 * @throws MarinError MARIN_INFERENCE_TOKEN_NEEDED for an address that others reach without a token; MARIN_INFERENCE_ADDRESS when it can't be listened on
 */
export async function startServer(options: ServerOptions): Promise<InferenceServer> {
  const { served, name, host = "127.0.0.1", port = 0, token, maxTokens = 2048, maxBodyBytes = 8 << 20, concurrency = 4, queueSize = 32, log, onServed } = options;
  requireToken(host, token);
  const slots = new Slots(concurrency, queueSize);
  const work = new Work(slots, onServed);
  const app = createApp({ served, name, slots, work, token, maxTokens, maxBodyBytes, log });
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false, serverOptions: { requestTimeout: 60_000, headersTimeout: 10_000, keepAliveTimeout: 5_000 } }) as Server;
  server.listen(port, host);
  await once(server, "listening").catch((cause: unknown) => {
    throw new MarinError("MARIN_INFERENCE_ADDRESS", `can't listen on ${host}, port ${String(port)}: ${(cause as Error).message}; choose another address or port`, { data: { host, port }, cause });
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${isIP(address.address) === 6 ? `[${address.address}]` : address.address}:${String(address.port)}`,
    async stop(graceMs) {
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      await work.end(graceMs);
      // What was written still has to reach the clients; those that don't take it are left.
      const deadline = setTimeout(() => {
        server.closeAllConnections();
      }, FLUSH_MS);
      server.closeIdleConnections();
      await closed;
      clearTimeout(deadline);
    },
  };
}

/** Milliseconds for the last bytes of the answers to be taken. */
const FLUSH_MS = 500;
