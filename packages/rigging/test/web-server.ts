import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type FaultChooser, type ReadyAnswer, sendAnswer } from "../src/testing/faults.js";

/** A file that a server has. */
export interface ServedFile {
  readonly content: Buffer;
  /** Headers beside those of its size. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request as it came. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
}

/** A running server. */
export interface WebServer extends AsyncDisposable {
  readonly endpoint: string;
  readonly requests: SeenRequest[];
}

/** What a server does. */
export interface WebServerOptions {
  /** The answer to a path, or undefined: 404. */
  readonly answer: (request: SeenRequest, body: string) => ReadyAnswer | undefined;
  readonly fault?: FaultChooser;
}

/** A web server on this machine. */
export async function startWebServer({ answer, fault = () => undefined }: WebServerOptions): Promise<WebServer> {
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const seen = { method: request.method ?? "GET", url: request.url ?? "/", headers: request.headers };
      requests.push(seen);
      const wanted = fault(seen);
      if (wanted === "cut-before") return void request.socket.destroy();
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (typeof wanted === "object" && "status" in wanted) return void response.writeHead(wanted.status, { "retry-after": "0" }).end();
      const ready = answer(seen, Buffer.concat(chunks).toString("utf8")) ?? { status: 404, headers: {}, body: Buffer.alloc(0) };
      await sendAnswer(request, response, seen.method === "HEAD" ? { ...ready, body: Buffer.alloc(0), namedLength: ready.body.length } : ready, wanted);
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { endpoint: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`, requests, [Symbol.asyncDispose]: close };
}

/** An answer that sends a file, or the part of it that was asked for. */
export function fileAnswer({ content, headers = { etag: `"${createHash("md5").update(content).digest("hex")}"` } }: ServedFile, request: SeenRequest, ranges = true): ReadyAnswer {
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
  if (first === undefined || !ranges) return { status: 200, headers, body: content };
  const start = Number(first);
  if (start >= content.length) return { status: 416, headers: { "content-range": `bytes */${String(content.length)}` }, body: Buffer.alloc(0) };
  const end = last === "" ? content.length : Math.min(content.length, Number(last) + 1);
  return { status: 206, headers: { ...headers, "content-range": `bytes ${String(start)}-${String(end - 1)}/${String(content.length)}` }, body: content.subarray(start, end) };
}
