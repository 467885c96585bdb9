import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { type FaultChooser, type ReadyAnswer, sendAnswer } from "../testing/faults.js";
import { pageOf } from "../testing/listing.js";
import { listenOnLoopback, type ServedRequest } from "../testing/loopback.js";
import { type KeptObject, S3Buckets, S3Refusal, unquoted, type WriteConditions } from "./objects.js";
import { listedParts, xmlDocument, type XmlElements } from "./xml.js";

/** Settings of {@link startS3Server}. */
export interface S3ServerOptions {
  /** The buckets it has. */
  readonly buckets: readonly string[];
  /** Chooses requests to fail, to try out how a program takes it. Default: none fail. */
  readonly fault?: FaultChooser;
}

/** A running server. */
export interface S3Server extends AsyncDisposable {
  /** Where it listens: the `endpoint` of createStorage's `s3`, or AWS_ENDPOINT_URL_S3. */
  readonly endpoint: string;
  /** What it was asked, in order. */
  readonly requests: readonly ServedRequest[];
  /** Uploads in parts that have neither ended nor been given up. */
  readonly openUploads: number;
  /** Stops it; its objects are gone. */
  close(): Promise<void>;
}

/** Keys in a page of a listing. Amazon's has 1,000; a server may give fewer than were asked for. */
const maxPage = 100;

/** The body's part of the answers that have none. */
const nothing = Buffer.alloc(0);

/**
 * A server on this machine that speaks as much of S3's protocol as storage needs, and keeps objects in memory: to try out s3:// paths, and
 * to test what uses them. Objects (with ranges, If-Match, If-None-Match), copies, uploads in parts, ListObjectsV2 with pages and delimiter.
 * The bucket stands in the path. Signatures are not checked; it listens on 127.0.0.1 only.
 */
export async function startS3Server({ buckets: names, fault = () => undefined }: S3ServerOptions): Promise<S3Server> {
  const buckets = new S3Buckets(names);
  const requests: ServedRequest[] = [];
  const { endpoint, close } = await listenOnLoopback(handle);
  return {
    endpoint,
    requests,
    get openUploads() {
      return buckets.openUploads;
    },
    close,
    [Symbol.asyncDispose]: close,
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "/" } = request;
    let objectBytes = 0;
    const wanted = fault({ method, url });
    try {
      if (wanted === "cut-before") return void request.socket.destroy();
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (typeof wanted === "object" && "status" in wanted) throw new S3Refusal(wanted.status, wanted.status === 503 ? "SlowDown" : "Refused", wanted.message ?? "as was asked for");
      const answer = respond({ method, url: new URL(url, endpoint), headers: request.headers, body: plainBody(request.headers, Buffer.concat(chunks)) }, buckets);
      objectBytes = answer.isObject === true ? answer.body.length : 0;
      await sendAnswer(request, response, answer, wanted);
    } catch (error) {
      const { status, code } = error instanceof S3Refusal ? error : { status: 400, code: "InvalidRequest" };
      const body = xmlDocument("Error", { Code: code, Message: error instanceof Error ? error.message : String(error), Resource: url });
      response.writeHead(status, { "content-type": "application/xml" }).end(method === "HEAD" ? undefined : body);
    } finally {
      requests.push({ method, url, range: request.headers.range ?? "", status: response.statusCode, objectBytes });
    }
  }
}

interface Call {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Answer extends ReadyAnswer {
  /** Whether the body is an object's content. */
  readonly isObject?: boolean;
}

function respond({ method, url, headers, body }: Call, buckets: S3Buckets): Answer {
  const [, bucketPart = "", keyPart] = /^\/([^/]*)(?:\/(.*))?$/s.exec(url.pathname) ?? [];
  const [bucket, key, query] = [decodeURIComponent(bucketPart), decodeURIComponent(keyPart ?? ""), url.searchParams];
  if (key === "") {
    if (method === "HEAD") return buckets.bucket(bucket) && { status: 200, headers: {}, body: nothing };
    if (method === "GET") return xml("ListBucketResult", listing(bucket, query, buckets));
    throw new S3Refusal(405, "MethodNotAllowed", "The specified method is not allowed against this resource.");
  }
  const uploadId = query.get("uploadId");
  if (method === "GET" || method === "HEAD") return objectAnswer(buckets.find(bucket, key), headers, method === "HEAD");
  if (method === "DELETE") {
    if (uploadId === null) buckets.bucket(bucket).delete(key);
    else buckets.abort(uploadId);
    return { status: 204, headers: {}, body: nothing };
  }
  if (method === "POST" && query.has("uploads")) return xml("InitiateMultipartUploadResult", { Bucket: bucket, Key: key, UploadId: buckets.begin(bucket, key, keptHeaders(headers)) });
  if (method === "POST" && uploadId !== null) {
    const { object } = buckets.complete(uploadId, listedParts(body.toString("utf8")), conditionsOf(headers));
    return xml("CompleteMultipartUploadResult", { Location: url.href, Bucket: bucket, Key: key, ETag: object.etag });
  }
  if (method !== "PUT") throw new S3Refusal(405, "MethodNotAllowed", "The specified method is not allowed against this resource.");
  checkDigest(headers, body);
  if (uploadId !== null) return { status: 200, headers: { etag: buckets.part(uploadId, Number(query.get("partNumber")), body) }, body: nothing };
  const source = headers["x-amz-copy-source"];
  if (typeof source === "string") {
    const [, fromBucket = "", fromKey = ""] = /^\/?([^/]+)\/(.*)$/s.exec(decodeURIComponent(source)) ?? [];
    const found = buckets.find(fromBucket, fromKey);
    const copied = buckets.put(bucket, key, { content: found.content, headers: found.headers }, conditionsOf(headers));
    return xml("CopyObjectResult", { ETag: copied.etag, LastModified: copied.modified.toISOString() });
  }
  const { etag } = buckets.put(bucket, key, { content: body, headers: keptHeaders(headers) }, conditionsOf(headers));
  return { status: 200, headers: { etag }, body: nothing };
}

/** @throws S3Refusal PreconditionFailed, InvalidRange */
function objectAnswer({ content, etag, modified, headers: kept }: KeptObject, headers: IncomingHttpHeaders, isHead: boolean): Answer {
  const described = { "content-type": "binary/octet-stream", ...kept, etag, "last-modified": modified.toUTCString(), "accept-ranges": "bytes" };
  const match = headers["if-match"];
  if (match !== undefined && match !== "*" && unquoted(match) !== unquoted(etag)) throw new S3Refusal(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
  const noneMatch = headers["if-none-match"];
  if (noneMatch !== undefined && (noneMatch === "*" || unquoted(noneMatch) === unquoted(etag))) return { status: 304, headers: described, body: nothing };
  if (isHead) return { status: 200, headers: described, body: nothing, namedLength: content.length };
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? "") ?? [];
  if (first === "" && last === "") return { status: 200, headers: described, body: content, isObject: true };
  const start = first === "" ? Math.max(0, content.length - Number(last)) : Number(first);
  const end = first === "" || last === "" ? content.length : Math.min(content.length, Number(last) + 1);
  if (start >= content.length || end <= start) throw new S3Refusal(416, "InvalidRange", "The requested range is not satisfiable");
  return { status: 206, headers: { ...described, "content-range": `bytes ${String(start)}-${String(end - 1)}/${String(content.length)}` }, body: content.subarray(start, end), isObject: true };
}

function listing(bucket: string, query: URLSearchParams, buckets: S3Buckets): XmlElements {
  const objects = buckets.bucket(bucket);
  const [prefix, delimiter, token] = [query.get("prefix") ?? "", query.get("delimiter") ?? "", query.get("continuation-token")];
  const after = token === null ? (query.get("start-after") ?? "") : Buffer.from(token, "base64url").toString("utf8");
  const { names, next } = pageOf([...objects.keys()], { prefix, delimiter, after, limit: Math.min(Number(query.get("max-keys") ?? maxPage), maxPage) });
  // As in a URL, with "+" for a space.
  const encode = (name: string): string => (query.get("encoding-type") === "url" ? encodeURIComponent(name).replaceAll("%20", "+").replaceAll("%2F", "/") : name);
  const isPrefix = (name: string): boolean => delimiter !== "" && name.slice(prefix.length).endsWith(delimiter);
  return {
    Name: bucket,
    Prefix: encode(prefix),
    KeyCount: names.length,
    IsTruncated: next !== undefined,
    EncodingType: query.get("encoding-type") ?? undefined,
    NextContinuationToken: next === undefined ? undefined : Buffer.from(next).toString("base64url"),
    Contents: names.filter((name) => !isPrefix(name)).map((name) => {
      const object = objects.get(name) as KeptObject;
      return { Key: encode(name), LastModified: object.modified.toISOString(), ETag: object.etag, Size: object.content.length, StorageClass: "STANDARD" };
    }),
    CommonPrefixes: names.filter(isPrefix).map((name) => ({ Prefix: encode(name) })),
  };
}

function xml(name: string, elements: XmlElements): Answer {
  return { status: 200, headers: { "content-type": "application/xml" }, body: xmlDocument(name, elements) };
}

function conditionsOf(headers: IncomingHttpHeaders): WriteConditions {
  return { ifMatch: headers["if-match"], ifNoneMatch: headers["if-none-match"] };
}

function keptHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === "string" && (entry[0] === "content-type" || entry[0].startsWith("x-amz-meta-"))));
}

/** @throws S3Refusal BadDigest */
function checkDigest(headers: IncomingHttpHeaders, body: Buffer): void {
  const digest = headers["content-md5"];
  if (typeof digest === "string" && digest !== createHash("md5").update(body).digest("base64")) throw new S3Refusal(400, "BadDigest", "The Content-MD5 you specified did not match what we received.");
}

/** A body without the frames that clients sign one by one ("aws-chunked"). */
function plainBody(headers: IncomingHttpHeaders, body: Buffer): Buffer {
  if (!String(headers["x-amz-content-sha256"] ?? "").startsWith("STREAMING-")) return body;
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf("\r\n", at);
    const bytes = lineEnd === -1 ? 0 : parseInt(body.toString("latin1", at, lineEnd), 16);
    if (!(bytes > 0)) return Buffer.concat(parts);
    parts.push(body.subarray(lineEnd + 2, lineEnd + 2 + bytes));
    at = lineEnd + 2 + bytes + 2;
  }
}
