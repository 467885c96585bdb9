import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that the server has answered. */
export interface ServedRequest {
  /** "GET", "POST", "PUT", "DELETE". */
  readonly method: string;
  /** Path and parameters. */
  readonly url: string;
  /** The Range header, "" without one. */
  readonly range: string;
  /** The answer's status. */
  readonly status: number;
  /** Bytes of objects in the answer. */
  readonly objectBytes: number;
}

/**
 * Serves on a free port of 127.0.0.1.
 *
 * @param handle - answers a request; never rejects
 * @returns the server's address, and what stops it, open connections included
 */
export async function listenOnLoopback(handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>): Promise<{ readonly endpoint: string; readonly close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    void handle(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  let closed: Promise<void> | undefined;
  return {
    endpoint: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    close: () =>
      (closed ??= new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      })),
  };
}
