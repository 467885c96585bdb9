import { createHash, randomUUID } from "node:crypto";

/** An object of the server. */
export interface KeptObject {
  /** Its bytes. */
  readonly content: Buffer;
  /** With its quotes. */
  readonly etag: string;
  /** When it was written. */
  readonly modified: Date;
  /** What the client said of it: content-type, x-amz-meta-... */
  readonly headers: Readonly<Record<string, string>>;
}

/** A refusal, in the protocol's terms. */
export class S3Refusal extends Error {
  /** The HTTP status. */
  readonly status: number;
  /** The protocol's name for it: "NoSuchKey". */
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Conditions of a write. */
export interface WriteConditions {
  /** The ETag that has to be there. */
  readonly ifMatch: string | undefined;
  /** "*": nothing may be there. */
  readonly ifNoneMatch: string | undefined;
}

interface Upload {
  readonly bucket: string;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly parts: Map<number, { readonly content: Buffer; readonly etag: string }>;
}

/** The least size of a part that is not the last. */
const leastPartBytes = 5 << 20;

/** The buckets of a server, and the uploads under way. */
export class S3Buckets {
  readonly #buckets: ReadonlyMap<string, Map<string, KeptObject>>;
  readonly #uploads = new Map<string, Upload>();

  constructor(names: readonly string[]) {
    this.#buckets = new Map(names.map((name) => [name, new Map<string, KeptObject>()]));
  }

  /** @throws S3Refusal NoSuchBucket */
  bucket(name: string): Map<string, KeptObject> {
    const found = this.#buckets.get(name);
    if (found === undefined) throw new S3Refusal(404, "NoSuchBucket", "The specified bucket does not exist");
    return found;
  }

  /** @throws S3Refusal NoSuchBucket, NoSuchKey */
  find(bucket: string, key: string): KeptObject {
    const found = this.bucket(bucket).get(key);
    if (found === undefined) throw new S3Refusal(404, "NoSuchKey", "The specified key does not exist.");
    return found;
  }

  /** @throws S3Refusal NoSuchBucket, NoSuchKey, PreconditionFailed */
  put(bucket: string, key: string, object: Pick<KeptObject, "content" | "headers"> & { readonly etag?: string }, conditions: WriteConditions): KeptObject {
    const objects = this.bucket(bucket);
    const found = objects.get(key);
    if (conditions.ifNoneMatch === "*" && found !== undefined) throw failed();
    if (conditions.ifMatch !== undefined) {
      if (found === undefined) throw new S3Refusal(404, "NoSuchKey", "The specified key does not exist.");
      if (unquoted(conditions.ifMatch) !== unquoted(found.etag)) throw failed();
    }
    const kept = { ...object, etag: object.etag ?? `"${md5(object.content)}"`, modified: new Date() };
    objects.set(key, kept);
    return kept;
  }

  /** Begins an upload in parts; returns its id. @throws S3Refusal NoSuchBucket */
  begin(bucket: string, key: string, headers: Readonly<Record<string, string>>): string {
    this.bucket(bucket);
    const id = randomUUID();
    this.#uploads.set(id, { bucket, key, headers, parts: new Map() });
    return id;
  }

  /** Takes a part; returns its ETag. @throws S3Refusal NoSuchUpload, InvalidArgument */
  part(id: string, number: number, content: Buffer): string {
    if (!(number >= 1 && number <= 10_000)) throw new S3Refusal(400, "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive");
    const etag = `"${md5(content)}"`;
    this.#upload(id).parts.set(number, { content, etag });
    return etag;
  }

  /** Ends an upload. @throws S3Refusal NoSuchUpload, InvalidPart, InvalidPartOrder, EntityTooSmall, PreconditionFailed */
  complete(id: string, listed: readonly { readonly number: number; readonly etag: string }[], conditions: WriteConditions): { readonly bucket: string; readonly key: string; readonly object: KeptObject } {
    const { bucket, key, headers, parts } = this.#upload(id);
    if (listed.length === 0 || listed.some(({ number }, index) => index > 0 && number <= (listed[index - 1]?.number ?? 0))) throw new S3Refusal(400, "InvalidPartOrder", "The list of parts was not in ascending order.");
    const contents = listed.map(({ number, etag }) => {
      const part = parts.get(number);
      if (part === undefined || unquoted(part.etag) !== unquoted(etag)) throw new S3Refusal(400, "InvalidPart", "One or more of the specified parts could not be found.");
      return part.content;
    });
    if (contents.slice(0, -1).some(({ length }) => length < leastPartBytes)) throw new S3Refusal(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size");
    const digest = md5(Buffer.concat(contents.map((content) => createHash("md5").update(content).digest())));
    const object = this.put(bucket, key, { content: Buffer.concat(contents), headers, etag: `"${digest}-${String(listed.length)}"` }, conditions);
    this.#uploads.delete(id);
    return { bucket, key, object };
  }

  /** Gives an upload up. @throws S3Refusal NoSuchUpload */
  abort(id: string): void {
    this.#upload(id);
    this.#uploads.delete(id);
  }

  /** Uploads that have neither ended nor been given up. */
  get openUploads(): number {
    return this.#uploads.size;
  }

  #upload(id: string): Upload {
    const found = this.#uploads.get(id);
    if (found === undefined) throw new S3Refusal(404, "NoSuchUpload", "The specified multipart upload does not exist.");
    return found;
  }
}

/** An ETag without its quotes: conditions may come with or without. */
export function unquoted(etag: string): string {
  return etag.trim().replace(/^"(.*)"$/, "$1");
}

function failed(): S3Refusal {
  return new S3Refusal(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
}

function md5(content: Buffer): string {
  return createHash("md5").update(content).digest("hex");
}
