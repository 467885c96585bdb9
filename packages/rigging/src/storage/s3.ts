import { createHash, randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { isMarinError, MarinError } from "@marin/ducky";
import type { S3Client } from "@aws-sdk/client-s3";
import type { Secret } from "../secrets.js";
import { ask, sendingMs } from "./ask.js";
import { notThatVersion } from "./changed.js";
import { writeConditionally } from "./conditional.js";
import { asBuffer, pieceBytes, Pieces } from "./pieces.js";
import { gather, type Range, rangeOf, untilAborted } from "./range.js";
import { mayPass, remoteError, statusOf, type StoreAdvice } from "./remote-error.js";
import { type OpenedBody, resumed } from "./resume.js";
import { uploadParts } from "./s3-upload.js";
import { asDirectory, sortedEntries } from "./scheme-storage.js";
import type { DirectoryEntry, ReadOptions, StorageDriver, StorageEntry, StorageStat, VersionedContent, WriteIfOptions, WriteOptions } from "./storage.js";
import { WatchedSource } from "./watched-source.js";

/** How to reach Amazon S3, or a store that speaks its protocol (MinIO, Ceph, R2, CoreWeave, ...). */
export interface S3Options {
  /** The server, "http://127.0.0.1:9000". Default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, else Amazon's. */
  readonly endpoint?: string;
  /** The region. Default: AWS_REGION or the profile's; with an endpoint "us-east-1". */
  readonly region?: string;
  /** Who asks; "anonymous" for what everybody may read. Default: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the profile's, the machine's role. */
  readonly credentials?: "anonymous" | { readonly accessKeyId: string; readonly secretAccessKey: Secret; readonly sessionToken?: Secret };
  /** Whether the bucket stands in the path (http://host/bucket/key) and not in the host's name. Default: true with `endpoint`, else false. */
  readonly pathStyle?: boolean;
  /** How often a request is tried again after a failure that may pass. Default 3. */
  readonly maxRetries?: number;
  /** How long to wait for an answer, or for the next bytes of a read, before it is asked for anew, in milliseconds. Default 60,000. */
  readonly stallMs?: number;
}

type Library = typeof import("@aws-sdk/client-s3");

/** The client, and the module that it is from. */
interface Connected {
  readonly client: S3Client;
  readonly library: Library;
}

const advice: StoreAdvice = {
  credentials: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile of ~/.aws",
  permission: "allow it s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket on the bucket",
};

/** Keeps the client from warning of its own next versions. */
const quiet = "AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED";

/** Marks the object with the write that made it, to tell one's own from another's after a lost answer. */
const writeMark = "marin-write";

/** A copy inside the store has an end here; what is larger goes through this process. */
const maxCopyBytes = 5 * 2 ** 30;

/**
 * Objects of S3-compatible stores, s3://bucket/key, through `@aws-sdk/client-s3`, which is loaded on first use and finds its credentials by
 * itself. Conditional writes need a store that heeds If-Match and If-None-Match, as Amazon's does.
 */
export class S3Storage implements StorageDriver {
  readonly #options: S3Options;
  #connected: Promise<Connected> | undefined;

  /** @param options - how to reach the store */
  constructor(options: S3Options = {}) {
    this.#options = options;
  }

  async *stream(path: string, options: ReadOptions = {}): AsyncGenerator<Uint8Array> {
    const { version, signal } = options;
    const range = rangeOf(path, options);
    signal?.throwIfAborted();
    try {
      if (range.start === range.end) {
        const found = await this.stat(path, { signal });
        if (found === undefined) throw notFound("read", path);
        return;
      }
      yield* untilAborted(
        resumed({ path, range, version, signal, maxRetries: this.#maxRetries, stallMs: this.#stallMs, open: (wanted, known, stop) => this.#open(path, wanted, known, stop) }),
        signal,
      );
    } catch (error) {
      if (statusOf(error) === 412) throw notThatVersion(path, { expected: version });
      throw remoteError(error, { action: "read", path }, advice);
    }
  }

  async stat(path: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<StorageStat | undefined> {
    const { client, library } = await this.#connect();
    try {
      const { ContentLength, ETag } = await this.#again(signal, (abortSignal) => client.send(new library.HeadObjectCommand(parsePath(path, false)), { abortSignal }));
      return { bytes: ContentLength ?? 0, version: ETag ?? "" };
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw remoteError(error, { action: "read", path }, advice);
    }
  }

  async *list(prefix: string): AsyncGenerator<StorageEntry> {
    for await (const entry of this.#listed(prefix, undefined)) if (entry.kind === "file") yield { path: entry.path, bytes: entry.bytes };
  }

  listDirectory(directory: string): AsyncGenerator<DirectoryEntry> {
    return this.#listed(asDirectory(directory), "/");
  }

  async write(path: string, data: Uint8Array | string | AsyncIterable<Uint8Array>, { ifAbsent = false, signal }: WriteOptions = {}): Promise<void> {
    const source = new WatchedSource();
    try {
      const isBytes = typeof data === "string" || data instanceof Uint8Array;
      const pieces = new Pieces(isBytes ? slices(asBuffer(data)) : source.watch(data, signal));
      const whole = await pieces.whole(pieceBytes);
      if (whole !== undefined) {
        if (ifAbsent) await this.writeIf(path, whole, { version: undefined, signal });
        else await this.#put(path, whole, { signal, attempts: this.#maxRetries + 1 });
        return;
      }
      const connected = await this.#connect();
      await uploadParts({ ...connected, target: parsePath(path, false), path, chunks: pieces.rest(), ifAbsent, signal, mark: randomUUID(), attempts: this.#maxRetries + 1, timeoutMs: this.#stallMs, markOf: () => this.#current(path) });
    } catch (error) {
      source.throwIfFailed();
      signal?.throwIfAborted();
      if (ifAbsent && (statusOf(error) === 412 || isMarinError(error, "RIGGING_CHANGED"))) throw new MarinError("RIGGING_EXISTS", `Cannot write ${path}: something is there already.`, { data: { path } });
      throw remoteError(error, { action: "write", path }, advice);
    }
  }

  async remove(path: string): Promise<boolean> {
    const { client, library } = await this.#connect();
    // The store answers the same whether there was one or not.
    if ((await this.stat(path)) === undefined) return false;
    try {
      await this.#again(undefined, (abortSignal) => client.send(new library.DeleteObjectCommand(parsePath(path, false)), { abortSignal }));
      return true;
    } catch (error) {
      throw remoteError(error, { action: "remove", path }, advice);
    }
  }

  async readVersioned(path: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<VersionedContent | undefined> {
    let version = "";
    const open = async (wanted: Range, known: string | undefined, stop: AbortSignal): Promise<OpenedBody | undefined> => {
      const opened = await this.#open(path, wanted, known, stop);
      version = opened?.version ?? version;
      return opened;
    };
    try {
      const content = await gather(resumed({ path, range: { start: 0, end: Infinity }, version: undefined, signal, maxRetries: this.#maxRetries, stallMs: this.#stallMs, open }));
      return { content, version };
    } catch (error) {
      if (statusOf(error) === 404 && (error as Error).name !== "NoSuchBucket") return undefined;
      // It was replaced while an interrupted answer was taken up again.
      if (statusOf(error) === 412 || isMarinError(error, "RIGGING_CHANGED")) return this.readVersioned(path, { signal });
      throw remoteError(error, { action: "read", path }, advice);
    }
  }

  async writeIf(path: string, data: Uint8Array | string, { version, signal }: WriteIfOptions): Promise<string> {
    const mark = randomUUID();
    return writeConditionally({
      path,
      expected: version,
      signal,
      maxRetries: this.#maxRetries,
      attempt: () => this.#put(path, asBuffer(data), { signal, attempts: 1, mark, condition: version === undefined ? { IfNoneMatch: "*" } : { IfMatch: version } }),
      judge: (error) => {
        const status = statusOf(error);
        // 409: another write to the same key was under way. 404: what has to be there was removed.
        if (status === 412 || (status === 404 && (error as Error).name === "NoSuchKey")) return "refused";
        return status === 409 || status === 429 ? "not-done" : mayPass(error) ? "unknown" : "final";
      },
      current: async () => {
        const found = await this.#current(path);
        return found === undefined ? undefined : { version: found.version, mine: found.mark === mark };
      },
      translate: (error) => remoteError(error, { action: "write", path }, advice),
    });
  }

  async copy(from: string, to: string, options: WriteOptions = {}): Promise<void> {
    const [source, target] = [parsePath(from, false), parsePath(to, false)];
    const found = await this.stat(from, { signal: options.signal });
    if (found === undefined) throw notFound("copy", from);
    // Not every store heeds a condition on the copy's place.
    if (options.ifAbsent === true || found.bytes > maxCopyBytes) return this.write(to, this.stream(from, { version: found.version, signal: options.signal }), options);
    const { client, library } = await this.#connect();
    const CopySource = `${source.Bucket}/${source.Key.split("/").map(encodeURIComponent).join("/")}`;
    try {
      await this.#again(options.signal, (abortSignal) => client.send(new library.CopyObjectCommand({ ...target, CopySource }), { abortSignal }));
    } catch (error) {
      throw remoteError(error, { action: "copy", path: from }, advice);
    }
  }

  get #stallMs(): number {
    return this.#options.stallMs ?? 60_000;
  }

  get #maxRetries(): number {
    return this.#options.maxRetries ?? 3;
  }

  /** Asks once and again, as long as the failure may pass. */
  #again<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return ask(work, { attempts: this.#maxRetries + 1, timeoutMs: this.#stallMs, signal });
  }

  async #open(path: string, { start, end }: Range, version: string | undefined, stop: AbortSignal): Promise<OpenedBody | undefined> {
    const { client, library } = await this.#connect();
    const isWhole = start === 0 && end === Infinity;
    const input = { ...parsePath(path, false), ...(isWhole ? {} : { Range: `bytes=${String(start)}-${end === Infinity ? "" : String(end - 1)}` }), ...(version === undefined ? {} : { IfMatch: version }) };
    try {
      const { Body, ContentLength, ETag } = await this.#again(stop, (abortSignal) => client.send(new library.GetObjectCommand(input), { abortSignal }));
      const body = Body as Readable;
      stop.addEventListener("abort", () => void body.destroy(), { once: true });
      return { chunks: body, bytes: ContentLength, version: ETag };
    } catch (error) {
      // A range that begins behind the end holds nothing.
      if (statusOf(error) === 416) return undefined;
      throw error;
    }
  }

  async #put(path: string, body: Buffer, { signal, attempts, mark = randomUUID(), condition = {} }: { readonly signal: AbortSignal | undefined; readonly attempts: number; readonly mark?: string; readonly condition?: { readonly IfMatch?: string; readonly IfNoneMatch?: string } }): Promise<string> {
    const { client, library } = await this.#connect();
    const ContentMD5 = createHash("md5").update(body).digest("base64");
    const input = { ...parsePath(path, false), ...condition, Body: body, ContentMD5, ContentType: "application/octet-stream", Metadata: { [writeMark]: mark } };
    const { ETag } = await ask((abortSignal) => client.send(new library.PutObjectCommand(input), { abortSignal }), { attempts, timeoutMs: this.#stallMs + sendingMs(body.length), signal });
    return ETag ?? "";
  }

  async #current(path: string): Promise<{ readonly version: string; readonly mark: string | undefined } | undefined> {
    const { client, library } = await this.#connect();
    try {
      const { ETag, Metadata } = await this.#again(undefined, (abortSignal) => client.send(new library.HeadObjectCommand(parsePath(path, false)), { abortSignal }));
      return { version: ETag ?? "", mark: Metadata?.[writeMark] };
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }

  async *#listed(prefix: string, delimiter: "/" | undefined): AsyncGenerator<DirectoryEntry> {
    const { Bucket, Key } = parsePath(prefix, true);
    const { client, library } = await this.#connect();
    // As in a URL: XML has no way to write every character that a key may hold.
    const decode = (text = ""): string => `s3://${Bucket}/${decodeURIComponent(text.replaceAll("+", " "))}`;
    let token: string | undefined;
    do {
      const input = { Bucket, Prefix: Key, EncodingType: "url" as const, ...(delimiter === undefined ? {} : { Delimiter: delimiter }), ...(token === undefined ? {} : { ContinuationToken: token }) };
      const page = await this.#again(undefined, (abortSignal) => client.send(new library.ListObjectsV2Command(input), { abortSignal })).catch((error: unknown) => {
        throw remoteError(error, { action: "list", path: prefix }, advice);
      });
      yield* sortedEntries([
        ...(page.Contents ?? []).map((object): DirectoryEntry => ({ kind: "file", path: decode(object.Key), bytes: object.Size ?? 0 })),
        ...(page.CommonPrefixes ?? []).map((inner): DirectoryEntry => ({ kind: "directory", path: decode(inner.Prefix) })),
      ]);
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  #connect(): Promise<Connected> {
    return (this.#connected ??= connect(this.#options));
  }
}

async function connect({ endpoint, region, credentials, pathStyle }: S3Options): Promise<Connected> {
  const library = await import("@aws-sdk/client-s3");
  const known = process.env[quiet];
  // The version is pinned to one that runs on this Node: its warning about later ones is for who pins it.
  process.env[quiet] = "true";
  try {
    const client = new library.S3Client({
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(region !== undefined ? { region } : endpoint !== undefined && process.env["AWS_REGION"] === undefined ? { region: "us-east-1" } : {}),
      ...credentialsOf(credentials),
      forcePathStyle: pathStyle ?? endpoint !== undefined,
      // Tries are counted here: a conditional write has to find out what a lost answer's try did.
      maxAttempts: 1,
      // Many stores know only the older checksums; bodies carry Content-MD5, and lengths are compared.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      requestHandler: { connectionTimeout: 10_000 },
    });
    return { client, library };
  } finally {
    if (known === undefined) delete process.env[quiet];
    else process.env[quiet] = known;
  }
}

function credentialsOf(credentials: S3Options["credentials"]): object {
  if (credentials === undefined) return {};
  if (credentials === "anonymous") return { credentials: { accessKeyId: "", secretAccessKey: "" }, signer: { sign: (request: unknown) => Promise.resolve(request) } };
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  return { credentials: { accessKeyId, secretAccessKey: secretAccessKey.reveal(), ...(sessionToken === undefined ? {} : { sessionToken: sessionToken.reveal() }) } };
}

function parsePath(path: string, isPrefix: boolean): { readonly Bucket: string; readonly Key: string } {
  const [, Bucket, Key] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/s.exec(path) ?? [];
  if (Bucket !== undefined && (isPrefix || (Key !== undefined && Key !== "")) && Buffer.byteLength(Key ?? "") <= 1024) return { Bucket, Key: Key ?? "" };
  throw new MarinError("RIGGING_BAD_PATH", `${path} is no path of a bucket: it has the form s3://bucket/key, the key at most 1024 bytes.`, { data: { path } });
}

function notFound(action: string, path: string): MarinError {
  return new MarinError("RIGGING_NOT_FOUND", `Cannot ${action} ${path}: there is no such object.`, { data: { path } });
}

async function* slices(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
