import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { z } from "zod";
import { type Buckets, Refusal, type ServedObject } from "./objects.js";

const given = z.record(z.string(), z.unknown());

/** A request to upload, as far as an answer needs it. */
export interface UploadRequest {
  /** The bucket. */
  readonly bucket: string;
  /** The request's parameters. */
  readonly query: URLSearchParams;
  /** The request's headers. */
  readonly headers: IncomingHttpHeaders;
  /** The request's body. */
  readonly body: Buffer;
}

/** An upload in pieces that has not ended. */
interface Session {
  readonly bucket: string;
  readonly query: URLSearchParams;
  readonly given: Readonly<Record<string, unknown>>;
  content: Buffer;
}

/** What a piece's answer is: the finished object, or how many bytes have arrived. */
export type PieceAnswer = { readonly object: ServedObject; readonly bucket: string } | { readonly received: number };

/** The three ways to upload. */
export class Uploads {
  readonly #buckets: Buckets;
  readonly #sessions = new Map<string, Session>();

  constructor(buckets: Buckets) {
    this.#buckets = buckets;
  }

  /** uploadType=media: the body is the object. */
  media({ bucket, query, headers, body }: UploadRequest): ServedObject {
    return this.#buckets.put(bucket, { name: nameOf(query, {}), content: body, given: { contentType: headers["content-type"] } }, query);
  }

  /** uploadType=multipart: the description, then the object (RFC 2387). */
  multipart({ bucket, query, headers, body }: UploadRequest): ServedObject {
    const boundary = /boundary="?([^";]+)"?/.exec(headers["content-type"] ?? "")?.[1];
    if (boundary === undefined) throw new Refusal(400, "a multipart upload names its boundary");
    const parts = partsOf(body, boundary);
    const [description, content] = parts;
    if (description === undefined || content === undefined || parts.length !== 2) throw new Refusal(400, "a multipart upload has two parts");
    const about = given.parse(JSON.parse(description.toString("utf8")));
    return this.#buckets.put(bucket, { name: nameOf(query, about), content, given: about }, query);
  }

  /** uploadType=resumable: the description now, the object in pieces. Returns the session's id. */
  begin({ bucket, query, headers, body }: UploadRequest): string {
    this.#buckets.bucket(bucket);
    const about = body.length === 0 ? {} : given.parse(JSON.parse(body.toString("utf8")));
    nameOf(query, about);
    const id = randomUUID();
    this.#sessions.set(id, { bucket, query, given: { contentType: headers["x-upload-content-type"], ...about }, content: Buffer.alloc(0) });
    return id;
  }

  /** One piece of a resumable upload, or the question how far it has come. */
  piece(id: string, { headers, body }: Pick<UploadRequest, "headers" | "body">): PieceAnswer {
    const session = this.#sessions.get(id);
    if (session === undefined) throw new Refusal(404, "no such upload");
    const [, from, total] = /^bytes (?:(\d+)-(?:\d+|\*)|\*)\/(\d+|\*)$/.exec(headers["content-range"] ?? `bytes 0-*/${String(body.length)}`) ?? [];
    if (from !== undefined) {
      if (Number(from) !== session.content.length) throw new Refusal(400, `the next piece begins at ${String(session.content.length)}`);
      session.content = Buffer.concat([session.content, body]);
    } else if (total === "*") {
      return { received: session.content.length };
    }
    // "bytes 0-*/*" streams the object to its end in one request.
    const isStream = from !== undefined && /-\*\/\*$/.test(headers["content-range"] ?? "");
    if (!isStream && Number(total) !== session.content.length) return { received: session.content.length };
    this.#sessions.delete(id);
    const { bucket, query, content } = session;
    return { bucket, object: this.#buckets.put(bucket, { name: nameOf(query, session.given), content, given: session.given }, query) };
  }
}

function nameOf(query: URLSearchParams, about: Readonly<Record<string, unknown>>): string {
  const name = query.get("name") ?? about["name"];
  if (typeof name !== "string" || name === "") throw new Refusal(400, "an upload names its object");
  return name;
}

function partsOf(body: Buffer, boundary: string): Buffer[] {
  const parts: Buffer[] = [];
  const mark = Buffer.from(`--${boundary}`);
  for (let start = body.indexOf(mark); start !== -1; ) {
    const next = body.indexOf(mark, start + mark.length);
    if (next === -1) break;
    const part = body.subarray(start + mark.length, next);
    const head = part.indexOf("\r\n\r\n");
    // Without its headers, and without the line end before the next boundary.
    if (head !== -1) parts.push(part.subarray(head + 4, part.length - 2));
    start = next;
  }
  return parts;
}
