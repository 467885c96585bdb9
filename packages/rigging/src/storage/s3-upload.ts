import { createHash } from "node:crypto";
import type { S3Client } from "@aws-sdk/client-s3";
import { ask, sendingMs } from "./ask.js";
import { pieceBytes } from "./pieces.js";
import { statusOf } from "./remote-error.js";

/** An object that is too long for one request. */
export interface PartsUpload {
  readonly client: S3Client;
  readonly library: typeof import("@aws-sdk/client-s3");
  /** Where it goes. */
  readonly target: { readonly Bucket: string; readonly Key: string };
  /** For messages. */
  readonly path: string;
  /** Its bytes. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Whether nothing may be there. */
  readonly ifAbsent: boolean;
  readonly signal: AbortSignal | undefined;
  /** The mark of this write. */
  readonly mark: string;
  /** Tries of each request, and how long one may take beside sending its bytes, in milliseconds. */
  readonly attempts: number;
  readonly timeoutMs: number;
  /** What is there, by its mark. */
  readonly markOf: () => Promise<{ readonly mark: string | undefined } | undefined>;
}

/** The store allows 10,000 parts: they grow, so that 800 GiB find room, and parts of the first 4 GiB are small. */
function bytesOfPart(number: number): number {
  return pieceBytes * (1 + Math.floor((number - 1) / 500));
}

/** Sends an object in parts. It appears when all are there; after a failure the parts are given up. @throws errors of the client, and of the chunks */
export async function uploadParts({ client, library, target, chunks, ifAbsent, signal, mark, attempts, timeoutMs, markOf }: PartsUpload): Promise<void> {
  const again = <T>(work: (abortSignal: AbortSignal) => Promise<T>, bytes = 0): Promise<T> => ask(work, { attempts, timeoutMs: timeoutMs + sendingMs(bytes), signal });
  const { UploadId } = await again((abortSignal) => client.send(new library.CreateMultipartUploadCommand({ ...target, ContentType: "application/octet-stream", Metadata: { "marin-write": mark } }), { abortSignal }));
  try {
    const Parts: { PartNumber: number; ETag: string | undefined }[] = [];
    for await (const body of partsOf(chunks)) {
      const PartNumber = Parts.length + 1;
      const ContentMD5 = createHash("md5").update(body).digest("base64");
      const { ETag } = await again((abortSignal) => client.send(new library.UploadPartCommand({ ...target, UploadId, PartNumber, Body: body, ContentMD5 }), { abortSignal }), body.length);
      Parts.push({ PartNumber, ETag });
    }
    signal?.throwIfAborted();
    let tries = 0;
    await again(async (abortSignal) => {
      tries += 1;
      try {
        await client.send(new library.CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts }, ...(ifAbsent ? { IfNoneMatch: "*" } : {}) }), { abortSignal });
      } catch (error) {
        // After a lost answer the upload is no longer known, or its own object is in its way.
        const mayBeDone = tries > 1 && (statusOf(error) === 404 || statusOf(error) === 412);
        if (mayBeDone && (await markOf())?.mark === mark) return;
        throw error;
      }
    });
  } catch (error) {
    await ask((abortSignal) => client.send(new library.AbortMultipartUploadCommand({ ...target, UploadId }), { abortSignal }), { attempts, timeoutMs, signal: undefined }).catch(() => undefined);
    throw error;
  }
}

async function* partsOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let kept: Uint8Array[] = [];
  let bytes = 0;
  let number = 1;
  for await (const chunk of chunks) {
    kept.push(chunk);
    bytes += chunk.length;
    if (bytes < bytesOfPart(number)) continue;
    const all = Buffer.concat(kept);
    let at = 0;
    for (; all.length - at >= bytesOfPart(number); number += 1) {
      const end = at + bytesOfPart(number);
      yield all.subarray(at, end);
      at = end;
    }
    kept = [all.subarray(at)];
    bytes = all.length - at;
  }
  if (bytes > 0) yield Buffer.concat(kept);
}
