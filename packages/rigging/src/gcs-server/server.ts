import type { IncomingMessage, ServerResponse } from "node:http";
import { type FaultChooser, sendAnswer } from "../testing/faults.js";
import { listenOnLoopback, type ServedRequest } from "../testing/loopback.js";
import { Buckets, describe, digests, Refusal, type ServedObject } from "./objects.js";
import { Uploads } from "./uploads.js";

/** Settings of {@link startGcsServer}. */
export interface GcsServerOptions {
  /** The buckets it has. */
  readonly buckets: readonly string[];
  /** Chooses requests to fail, to try out how a program takes it. Default: none fail. */
  readonly fault?: FaultChooser;
}

/** A running server. */
export interface GcsServer extends AsyncDisposable {
  /** Where it listens: the `endpoint` of createStorage's `gcs`, or STORAGE_EMULATOR_HOST. */
  readonly endpoint: string;
  /** What it was asked, in order. */
  readonly requests: readonly ServedRequest[];
  /** Stops it; its objects are gone. */
  close(): Promise<void>;
}

/**
 * A server on this machine that speaks as much of the Google Cloud Storage JSON API as storage needs, and keeps objects in
 * memory: to try out gs:// paths, and to test what uses them. Uploads (media, multipart, resumable), downloads with ranges,
 * listings with pages, descriptions, deletion; ifGenerationMatch. It asks for no credentials and listens on 127.0.0.1 only.
 */
export async function startGcsServer({ buckets: names, fault = () => undefined }: GcsServerOptions): Promise<GcsServer> {
  const buckets = new Buckets(names);
  const uploads = new Uploads(buckets);
  const requests: ServedRequest[] = [];
  const { endpoint, close } = await listenOnLoopback(handle);
  return { endpoint, requests, close, [Symbol.asyncDispose]: close };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "/" } = request;
    let objectBytes = 0;
    try {
      const wanted = fault({ method, url });
      if (wanted === "cut-before") return void request.socket.destroy();
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (typeof wanted === "object" && "status" in wanted) throw new Refusal(wanted.status, wanted.message ?? "as was asked for");
      const answer = await respond({ method, url: new URL(url, endpoint), request, body: Buffer.concat(chunks) });
      objectBytes = answer.isObject === true ? answer.body.length : 0;
      await sendAnswer(request, response, answer, wanted);
    } catch (error) {
      const status = error instanceof Refusal ? error.status : 400;
      const message = error instanceof Error ? error.message : String(error);
      const body = JSON.stringify({ error: { code: status, message, errors: [{ message, reason: "refused" }] } });
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    } finally {
      requests.push({ method, url, range: request.headers.range ?? "", status: response.statusCode, objectBytes });
    }
  }

  async function respond({ method, url, request, body }: Call): Promise<Answer> {
    const query = url.searchParams;
    // The client leaves out /storage/v1 when the environment names the server.
    const [, kind, bucketPart, objectPart, actionPart, targetPart] = /^(\/upload\/storage\/v1|\/download\/storage\/v1|\/storage\/v1)?\/b\/([^/]+)\/o(?:\/([^/]+)(?:\/(rewriteTo\/b\/[^/]+|moveTo)\/o\/([^/]+))?)?\/?$/.exec(url.pathname) ?? [];
    if (bucketPart === undefined) throw new Refusal(404, `${url.pathname} is not served here`);
    const bucket = decodeURIComponent(bucketPart);
    const { headers } = request;
    if (kind === "/upload/storage/v1") {
      if (method === "PUT") return pieceAnswer(query.get("upload_id") ?? "", { headers, body });
      const upload = { bucket, query, headers, body };
      const type = query.get("uploadType");
      if (type === "resumable") {
        return { status: 200, headers: { location: `${endpoint}${url.pathname}?uploadType=resumable&upload_id=${uploads.begin(upload)}` }, body: Buffer.alloc(0) };
      }
      return json(await describe(bucket, type === "multipart" ? uploads.multipart(upload) : uploads.media(upload)));
    }
    if (objectPart === undefined) {
      const { items, prefixes, next } = buckets.list(bucket, query);
      return json({
        kind: "storage#objects",
        items: await Promise.all(items.map((object) => describe(bucket, object))),
        ...(prefixes.length === 0 ? {} : { prefixes }),
        ...(next === undefined ? {} : { nextPageToken: next }),
      });
    }
    const name = decodeURIComponent(objectPart);
    if (actionPart !== undefined && targetPart !== undefined) {
      const isMove = actionPart === "moveTo";
      const target = { bucket: isMove ? bucket : decodeURIComponent(actionPart.slice("rewriteTo/b/".length)), name: decodeURIComponent(targetPart) };
      const copied = buckets.copy({ bucket, name }, target, body.length === 0 ? {} : (JSON.parse(body.toString("utf8")) as Record<string, unknown>), query);
      if (isMove) buckets.delete(bucket, name, new URLSearchParams());
      const resource = await describe(target.bucket, copied);
      return json(isMove ? resource : { kind: "storage#rewriteResponse", done: true, objectSize: resource["size"], totalBytesRewritten: resource["size"], resource });
    }
    if (method === "DELETE") {
      buckets.delete(bucket, name, query);
      return { status: 204, headers: {}, body: Buffer.alloc(0) };
    }
    const object = buckets.find(bucket, name, query);
    return query.get("alt") === "media" || kind === "/download/storage/v1" ? media(object, headers.range) : json(await describe(bucket, object));
  }

  async function pieceAnswer(id: string, request: { readonly headers: IncomingMessage["headers"]; readonly body: Buffer }): Promise<Answer> {
    const answer = uploads.piece(id, request);
    if ("object" in answer) return json(await describe(answer.bucket, answer.object));
    return { status: 308, headers: answer.received === 0 ? {} : { range: `bytes=0-${String(answer.received - 1)}` }, body: Buffer.alloc(0) };
  }
}

interface Call {
  readonly method: string;
  readonly url: URL;
  readonly request: IncomingMessage;
  readonly body: Buffer;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whether the body is an object's content. */
  readonly isObject?: boolean;
}

function json(value: unknown): Answer {
  return { status: 200, headers: { "content-type": "application/json" }, body: Buffer.from(JSON.stringify(value)) };
}

/** @throws Refusal 416 for a range that begins behind the end */
async function media({ content, generation, given }: ServedObject, range: string | undefined): Promise<Answer> {
  const { md5Hash, crc32c } = await digests(content);
  const headers = {
    "content-type": typeof given["contentType"] === "string" ? given["contentType"] : "application/octet-stream",
    "x-goog-generation": String(generation),
    "x-goog-hash": `crc32c=${crc32c},md5=${md5Hash}`,
    "x-goog-stored-content-encoding": "identity",
    "accept-ranges": "bytes",
  };
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range ?? "") ?? [];
  if (first === undefined) return { status: 200, headers, body: content, isObject: true };
  const start = Number(first);
  if (start >= content.length) throw new Refusal(416, "the range begins behind the end");
  const end = last === undefined || last === "" ? content.length : Math.min(content.length, Number(last) + 1);
  return { status: 206, headers: { ...headers, "content-range": `bytes ${String(start)}-${String(end - 1)}/${String(content.length)}` }, body: content.subarray(start, end), isObject: true };
}
