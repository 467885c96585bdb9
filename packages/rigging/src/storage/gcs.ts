import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isMarinError, MarinError } from "@marin/ducky";
import type { Bucket, File, Storage as Client } from "@google-cloud/storage";
import { ask, inTime, sendingMs } from "./ask.js";
import { writeConditionally } from "./conditional.js";
import { notThatVersion } from "./changed.js";
import { bodyOf, wholeChecked } from "./gcs-body.js";
import { asBuffer, pieceBytes, Pieces } from "./pieces.js";
import { gather, isWhole, rangeOf, untilAborted } from "./range.js";
import { mayPass, remoteError, statusOf, type StoreAdvice } from "./remote-error.js";
import { resumed } from "./resume.js";
import { asDirectory, sortedEntries } from "./scheme-storage.js";
import type { DirectoryEntry, ReadOptions, StorageDriver, StorageEntry, StorageStat, VersionedContent, WriteIfOptions, WriteOptions } from "./storage.js";
import { WatchedSource } from "./watched-source.js";

/** How to reach Google Cloud Storage. */
export interface GcsOptions {
  /**
   * Another server that speaks the same protocol, "http://127.0.0.1:4443"; it is spoken to without credentials. Default: the
   * environment variable STORAGE_EMULATOR_HOST, else Google's.
   */
  readonly endpoint?: string;
  /** How often a request is tried again after a failure that may pass. Default 3. */
  readonly maxRetries?: number;
  /**
   * How long to wait for an answer, or for the next bytes of a read, before it is asked for anew, in milliseconds. Default 15,000: Google's client
   * does not notice a connection that breaks in the middle of a body, so that only the waiting ends it.
   */
  readonly stallMs?: number;
}

const advice: StoreAdvice = {
  credentials: "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file",
  permission: "grant it a role such as roles/storage.objectUser on the bucket",
};

/** Marks the object with the write that made it, to tell one's own from another's after a lost answer. */
const writeMark = "marin-write";

/**
 * Objects of Google Cloud Storage, gs://bucket/name, through `@google-cloud/storage`, which is loaded on first use and
 * finds its credentials by itself (GOOGLE_APPLICATION_CREDENTIALS, `gcloud auth application-default login`, the machine's account).
 */
export class GcsStorage implements StorageDriver {
  readonly #options: GcsOptions;
  /** Asks once: tries are counted here, and after a lost answer a conditional write has to find out what it did. */
  #client: Promise<Client> | undefined;
  /** Tries again by itself, as an upload in pieces can be continued by none but the client. */
  #uploader: Promise<Client> | undefined;

  constructor(options: GcsOptions = {}) {
    this.#options = options;
  }

  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    return gather(this.stream(path, options));
  }

  async *stream(path: string, options: ReadOptions = {}): AsyncGenerator<Uint8Array> {
    const range = rangeOf(path, options);
    const { version, signal } = options;
    signal?.throwIfAborted();
    const { bucket, name } = parsePath(path, false);
    const fileOf = async (generation: string | undefined): Promise<File> => (await this.#bucket(bucket)).file(name, generation === undefined ? {} : { generation });
    try {
      if (range.start === range.end) {
        const file = await fileOf(version);
        await this.#again(signal, () => file.getMetadata());
        return;
      }
      let checksum: string | undefined;
      const chunks = resumed({
        path,
        range,
        version,
        signal,
        maxRetries: this.#maxRetries,
        stallMs: this.#stallMs,
        open: async (wanted, generation, stop) => {
          const file = await fileOf(generation);
          const body = await this.#again(stop, () => bodyOf(file, wanted, stop)).catch(async (error: unknown) => {
            // A generation that is gone is a change, unless nothing is left.
            if (generation !== undefined && statusOf(error) === 404 && (await this.stat(path)) !== undefined) throw notThatVersion(path, { expected: generation });
            // A range that begins behind the end holds nothing.
            if (statusOf(error) === 416) return undefined;
            throw error;
          });
          checksum ??= body?.checksum;
          return body;
        },
      });
      yield* untilAborted(isWhole(range) ? wholeChecked(chunks, path, () => checksum) : chunks, signal);
    } catch (error) {
      throw remoteError(error, { action: "read", path }, advice);
    }
  }

  async stat(path: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<StorageStat | undefined> {
    const file = await this.#file(path);
    try {
      const [{ size, generation }] = await this.#again(signal, () => file.getMetadata());
      return { bytes: Number(size), version: String(generation) };
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
    signal?.throwIfAborted();
    const file = await this.#file(path);
    const mark = randomUUID();
    const common = {
      metadata: { contentType: "application/octet-stream", metadata: { [writeMark]: mark } },
      ...(ifAbsent ? { preconditionOpts: { ifGenerationMatch: 0 } } : {}),
    };
    const source = new WatchedSource();
    try {
      const pieces = new Pieces(source.watch(typeof data === "string" || data instanceof Uint8Array ? one(asBuffer(data)) : data, signal));
      const whole = await pieces.whole(pieceBytes);
      if (whole !== undefined) await this.#again(signal, () => file.save(whole, { ...common, resumable: false }), whole.length);
      else await pipeline(Readable.from(pieces.rest(), { objectMode: false }), (await this.#uploading(path)).createWriteStream({ ...common, resumable: true, chunkSize: pieceBytes }));
    } catch (error) {
      source.throwIfFailed();
      if (ifAbsent && statusOf(error) === 412) return this.#wasOurs(path, mark);
      throw remoteError(error, { action: "write", path }, advice);
    }
  }

  async readVersioned(path: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<VersionedContent | undefined> {
    const file = await this.#file(path);
    try {
      const [{ generation }] = await this.#again(signal, () => file.getMetadata());
      const version = String(generation);
      return { content: await gather(this.stream(path, { version, signal })), version };
    } catch (error) {
      if (isMarinError(error, "RIGGING_CHANGED")) return this.readVersioned(path, { signal });
      if (statusOf(error) === 404 || isMarinError(error, "RIGGING_NOT_FOUND")) return undefined;
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
      attempt: async () => {
        const file = await this.#file(path);
        const body = asBuffer(data);
        await inTime(() => file.save(body, { metadata: { contentType: "application/octet-stream", metadata: { [writeMark]: mark } }, preconditionOpts: { ifGenerationMatch: version ?? 0 }, resumable: false }), this.#stallMs + sendingMs(body.length), signal);
        return String(file.metadata.generation);
      },
      judge: (error) => {
        const status = statusOf(error);
        return status === 412 ? "refused" : status === 429 ? "not-done" : mayPass(error) ? "unknown" : "final";
      },
      current: async () => {
        const [{ generation, metadata }] = await (await this.#file(path)).getMetadata();
        return { version: String(generation), mine: metadata?.[writeMark] === mark };
      },
      translate: (error) => remoteError(error, { action: "write", path }, advice),
    });
  }

  async copy(from: string, to: string, { ifAbsent = false, signal }: WriteOptions = {}): Promise<void> {
    const [source, target] = [await this.#file(from), await this.#file(to)];
    const mark = randomUUID();
    try {
      await this.#again(signal, () => source.copy(target, { contentType: "application/octet-stream", metadata: { [writeMark]: mark }, ...(ifAbsent ? { preconditionOpts: { ifGenerationMatch: 0 } } : {}) }));
    } catch (error) {
      if (ifAbsent && statusOf(error) === 412) return this.#wasOurs(to, mark);
      throw remoteError(error, { action: "copy", path: from }, advice);
    }
  }

  async rename(from: string, to: string, { ifAbsent = false, signal }: WriteOptions = {}): Promise<void> {
    const [source, target] = [parsePath(from, false), parsePath(to, false)];
    if (source.bucket !== target.bucket) throw new MarinError("RIGGING_UNSUPPORTED", `Cannot rename ${from}: ${to} lies in another bucket; copy it, then remove it.`, { data: { path: from, action: "rename" } });
    if (source.name === target.name) return;
    const [file, place] = [await this.#file(from), await this.#file(to)];
    let tries = 0;
    try {
      await this.#again(signal, () => ((tries += 1), file.moveFileAtomic(place, ifAbsent ? { preconditionOpts: { ifGenerationMatch: 0 } } : {})));
    } catch (error) {
      // After a lost answer the object is where it was to go.
      if (tries > 1 && [404, 412].includes(statusOf(error) ?? 0) && (await this.stat(from)) === undefined && (await this.stat(to)) !== undefined) return;
      if (ifAbsent && statusOf(error) === 412) throw exists(to);
      throw remoteError(error, { action: "rename", path: from }, advice);
    }
  }

  async remove(path: string): Promise<boolean> {
    const file = await this.#file(path);
    let tries = 0;
    try {
      await this.#again(undefined, () => ((tries += 1), file.delete()));
      return true;
    } catch (error) {
      // After a lost answer it is gone because of the first try.
      if (statusOf(error) === 404) return tries > 1;
      throw remoteError(error, { action: "remove", path }, advice);
    }
  }

  /** After a lost answer the client asks again, and is refused because of its own first try. @throws MarinError RIGGING_EXISTS when it was another's */
  async #wasOurs(path: string, mark: string): Promise<void> {
    const [{ metadata }] = await (await this.#file(path)).getMetadata().catch(() => [{ metadata: undefined }] as const);
    if (metadata?.[writeMark] !== mark) throw exists(path);
  }

  get #maxRetries(): number {
    return this.#options.maxRetries ?? 3;
  }

  get #stallMs(): number {
    return this.#options.stallMs ?? 15_000;
  }

  /** Asks once and again, as long as the failure may pass. */
  #again<T>(signal: AbortSignal | undefined, work: () => Promise<T>, bytes = 0): Promise<T> {
    return ask(work, { attempts: this.#maxRetries + 1, timeoutMs: this.#stallMs + sendingMs(bytes), signal });
  }

  async #file(path: string): Promise<File> {
    const { bucket, name } = parsePath(path, false);
    return (await this.#bucket(bucket)).file(name);
  }

  async #bucket(name: string): Promise<Bucket> {
    return (await (this.#client ??= connect(this.#options, 0))).bucket(name);
  }

  async #uploading(path: string): Promise<File> {
    const { bucket, name } = parsePath(path, false);
    return (await (this.#uploader ??= connect(this.#options, this.#maxRetries))).bucket(bucket).file(name);
  }

  async *#listed(prefix: string, delimiter: "/" | undefined): AsyncGenerator<DirectoryEntry> {
    const { bucket, name } = parsePath(prefix, true);
    const held = await this.#bucket(bucket);
    let query: object | null = { prefix: name, ...(delimiter === undefined ? {} : { delimiter }), autoPaginate: false };
    while (query !== null) {
      const wanted: object = query;
      const [files, next, answer] = (await this.#again(undefined, () => held.getFiles(wanted)).catch((error: unknown) => {
        throw remoteError(error, { action: "list", path: prefix }, advice);
      })) as [File[], object | null, { readonly prefixes?: readonly string[] } | undefined];
      // The server gives objects and directories apart, each sorted, and a page holds what lies between two names.
      yield* sortedEntries([
        ...files.map((file): DirectoryEntry => ({ kind: "file", path: `gs://${bucket}/${file.name}`, bytes: Number(file.metadata.size) })),
        ...(answer?.prefixes ?? []).map((inner): DirectoryEntry => ({ kind: "directory", path: `gs://${bucket}/${inner}` })),
      ]);
      // The client takes the setting out of what it gives back.
      query = next === null ? null : { ...next, autoPaginate: false };
    }
  }
}

async function connect({ endpoint }: GcsOptions, maxRetries: number): Promise<Client> {
  const { IdempotencyStrategy, Storage: GcsClient } = await import("@google-cloud/storage");
  return new GcsClient({
    ...(endpoint === undefined ? {} : { apiEndpoint: endpoint, useAuthWithCustomEndpoint: false }),
    // Writing the same object again does no harm; one that must be absent carries its write's mark.
    retryOptions: { maxRetries, autoRetry: maxRetries > 0, idempotencyStrategy: IdempotencyStrategy.RetryAlways, totalTimeout: 120 },
  });
}

function parsePath(path: string, isPrefix: boolean): { readonly bucket: string; readonly name: string } {
  const [, bucket, name] = /^gs:\/\/([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:\/(.*))?$/s.exec(path) ?? [];
  if (bucket !== undefined && (isPrefix || (name !== undefined && name !== "")) && Buffer.byteLength(name ?? "") <= 1024) return { bucket, name: name ?? "" };
  throw new MarinError("RIGGING_BAD_PATH", `${path} is no path of a bucket: it has the form gs://bucket/name, the name at most 1024 bytes.`, { data: { path } });
}

async function* one(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function exists(path: string): MarinError {
  return new MarinError("RIGGING_EXISTS", `Cannot write ${path}: something is there already.`, { data: { path } });
}
