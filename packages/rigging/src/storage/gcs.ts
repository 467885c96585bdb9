import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isMarinError, MarinError } from "@marin/ducky";
import type { Bucket, File, Storage as Client } from "@google-cloud/storage";
import { writeConditionally } from "./conditional.js";
import { notThatVersion } from "./changed.js";
import { bodyOf, wholeChecked } from "./gcs-body.js";
import { gcsError, mayPass, statusOf } from "./gcs-error.js";
import { asBuffer, pieceBytes, Pieces } from "./pieces.js";
import { gather, isWhole, rangeOf, untilAborted } from "./range.js";
import { resumed } from "./resume.js";
import { asDirectory, sortedEntries } from "./scheme-storage.js";
import type { DirectoryEntry, ReadOptions, StorageDriver, StorageEntry, StorageStat, VersionedContent, WriteIfOptions, WriteOptions } from "./storage.js";

/** How to reach Google Cloud Storage. */
export interface GcsOptions {
  /**
   * Another server that speaks the same protocol, "http://127.0.0.1:4443"; it is spoken to without credentials. Default: the
   * environment variable STORAGE_EMULATOR_HOST, else Google's.
   */
  readonly endpoint?: string;
  /** How often a request is tried again after a failure that may pass. Default 3. */
  readonly maxRetries?: number;
  /** How long to wait for the next bytes of a read before the rest is asked for anew, in milliseconds. Default 60,000. */
  readonly stallMs?: number;
}

/** Marks the object with the write that made it, to tell one's own from another's after a lost answer. */
const writeMark = "marin-write";

/**
 * Objects of Google Cloud Storage, gs://bucket/name, through `@google-cloud/storage`, which is loaded on first use and
 * finds its credentials by itself (GOOGLE_APPLICATION_CREDENTIALS, `gcloud auth application-default login`, the machine's account).
 */
export class GcsStorage implements StorageDriver {
  readonly #options: GcsOptions;
  #client: Promise<Client> | undefined;
  /** One that asks once: after a lost answer a conditional write has to find out what it did. */
  #onceClient: Promise<Client> | undefined;

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
        await (await fileOf(version)).getMetadata();
        return;
      }
      let checksum: string | undefined;
      const chunks = resumed({
        path,
        range,
        version,
        signal,
        maxRetries: this.#options.maxRetries ?? 3,
        stallMs: this.#options.stallMs ?? 60_000,
        mayPass,
        open: async (wanted, generation, stop) => {
          const body = await bodyOf(await fileOf(generation), wanted, stop).catch((error: unknown) => {
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
      // A generation that is gone is a change, unless nothing is left.
      if (version !== undefined && statusOf(error) === 404 && (await this.stat(path)) !== undefined) throw notThatVersion(path, { expected: version });
      throw gcsError(error, { action: "read", path });
    }
  }

  async stat(path: string): Promise<StorageStat | undefined> {
    const file = await this.#file(path);
    try {
      const [{ size, generation }] = await file.getMetadata();
      return { bytes: Number(size), version: String(generation) };
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw gcsError(error, { action: "read", path });
    }
  }

  async *list(prefix: string): AsyncGenerator<StorageEntry> {
    const { bucket, name } = parsePath(prefix, true);
    const files = (await this.#bucket(bucket)).getFilesStream({ prefix: name });
    try {
      for await (const file of files) {
        const { name: found, metadata } = file as File;
        yield { path: `gs://${bucket}/${found}`, bytes: Number(metadata.size) };
      }
    } catch (error) {
      throw gcsError(error, { action: "list", path: prefix });
    } finally {
      files.destroy();
    }
  }

  async *listDirectory(directory: string): AsyncGenerator<DirectoryEntry> {
    const { bucket, name } = parsePath(asDirectory(directory), true);
    const held = await this.#bucket(bucket);
    let query: object | null = { prefix: name, delimiter: "/", autoPaginate: false };
    while (query !== null) {
      const [files, next, answer] = (await held.getFiles(query).catch((error: unknown) => {
        throw gcsError(error, { action: "list", path: directory });
      })) as [File[], object | null, { readonly prefixes?: readonly string[] } | undefined];
      // The server gives both kinds apart, each sorted, and a page holds what lies between two names.
      const entries = [
        ...files.map((file): DirectoryEntry => ({ kind: "file", path: `gs://${bucket}/${file.name}`, bytes: Number(file.metadata.size) })),
        ...(answer?.prefixes ?? []).map((prefix): DirectoryEntry => ({ kind: "directory", path: `gs://${bucket}/${prefix}` })),
      ];
      yield* sortedEntries(entries);
      query = next;
    }
  }

  async write(path: string, data: Uint8Array | string | AsyncIterable<Uint8Array>, { ifAbsent = false, signal }: WriteOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    const file = await this.#file(path);
    const mark = randomUUID();
    const common = {
      metadata: { contentType: "application/octet-stream", metadata: { [writeMark]: mark } },
      ...(ifAbsent ? { preconditionOpts: { ifGenerationMatch: 0 } } : {}),
    };
    let sourceError: { readonly error: unknown } | undefined;
    const source = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      try {
        yield* untilAborted(chunks, signal);
      } catch (error) {
        sourceError = { error };
        throw error;
      }
    };
    try {
      if (typeof data === "string" || data instanceof Uint8Array) {
        await file.save(asBuffer(data), { ...common, resumable: data.length > pieceBytes, chunkSize: pieceBytes });
      } else {
        const chunks = new Pieces(source(data));
        const first = await chunks.whole(pieceBytes);
        if (first !== undefined) await file.save(first, { ...common, resumable: false });
        else await pipeline(Readable.from(chunks.rest(), { objectMode: false }), file.createWriteStream({ ...common, resumable: true, chunkSize: pieceBytes }));
      }
    } catch (error) {
      if (sourceError !== undefined) throw sourceError.error;
      if (ifAbsent && statusOf(error) === 412) return this.#wasOurs(path, mark);
      throw gcsError(error, { action: "write", path });
    }
  }

  async readVersioned(path: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<VersionedContent | undefined> {
    const file = await this.#file(path);
    try {
      const [{ generation }] = await file.getMetadata();
      const version = String(generation);
      return { content: await gather(this.stream(path, { version, signal })), version };
    } catch (error) {
      if (isMarinError(error, "RIGGING_CHANGED")) return this.readVersioned(path, { signal });
      if (statusOf(error) === 404 || isMarinError(error, "RIGGING_NOT_FOUND")) return undefined;
      throw gcsError(error, { action: "read", path });
    }
  }

  async writeIf(path: string, data: Uint8Array | string, { version, signal }: WriteIfOptions): Promise<string> {
    const { bucket, name } = parsePath(path, false);
    const client = await (this.#onceClient ??= connect({ ...this.#options, maxRetries: 0 }));
    const mark = randomUUID();
    return writeConditionally({
      path,
      expected: version,
      signal,
      maxRetries: this.#options.maxRetries ?? 3,
      attempt: async () => {
        const file = client.bucket(bucket).file(name);
        await file.save(asBuffer(data), { metadata: { contentType: "application/octet-stream", metadata: { [writeMark]: mark } }, preconditionOpts: { ifGenerationMatch: version ?? 0 }, resumable: false });
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
      translate: (error) => gcsError(error, { action: "write", path }),
    });
  }

  async copy(from: string, to: string, { ifAbsent = false }: WriteOptions = {}): Promise<void> {
    const [source, target] = [await this.#file(from), await this.#file(to)];
    const mark = randomUUID();
    try {
      await source.copy(target, { contentType: "application/octet-stream", metadata: { [writeMark]: mark }, ...(ifAbsent ? { preconditionOpts: { ifGenerationMatch: 0 } } : {}) });
    } catch (error) {
      if (ifAbsent && statusOf(error) === 412) return this.#wasOurs(to, mark);
      throw gcsError(error, { action: "copy", path: from });
    }
  }

  async rename(from: string, to: string, { ifAbsent = false }: WriteOptions = {}): Promise<void> {
    const [source, target] = [parsePath(from, false), parsePath(to, false)];
    if (source.bucket !== target.bucket) throw new MarinError("RIGGING_UNSUPPORTED", `Cannot rename ${from}: ${to} lies in another bucket; copy it, then remove it.`, { data: { path: from, action: "rename" } });
    if (source.name === target.name) return;
    try {
      await (await this.#file(from)).moveFileAtomic(await this.#file(to), ifAbsent ? { preconditionOpts: { ifGenerationMatch: 0 } } : {});
    } catch (error) {
      if (ifAbsent && statusOf(error) === 412) throw exists(to);
      throw gcsError(error, { action: "rename", path: from });
    }
  }

  async remove(path: string): Promise<boolean> {
    const file = await this.#file(path);
    try {
      await file.delete();
      return true;
    } catch (error) {
      if (statusOf(error) === 404) return false;
      throw gcsError(error, { action: "remove", path });
    }
  }

  /** After a lost answer the client asks again, and is refused because of its own first try. @throws MarinError RIGGING_EXISTS when it was another's */
  async #wasOurs(path: string, mark: string): Promise<void> {
    const [{ metadata }] = await (await this.#file(path)).getMetadata().catch(() => [{ metadata: undefined }] as const);
    if (metadata?.[writeMark] !== mark) throw exists(path);
  }

  async #file(path: string): Promise<File> {
    const { bucket, name } = parsePath(path, false);
    return (await this.#bucket(bucket)).file(name);
  }

  async #bucket(name: string): Promise<Bucket> {
    this.#client ??= connect(this.#options);
    return (await this.#client).bucket(name);
  }
}

async function connect({ endpoint, maxRetries = 3 }: GcsOptions): Promise<Client> {
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

function exists(path: string): MarinError {
  return new MarinError("RIGGING_EXISTS", `Cannot write ${path}: something is there already.`, { data: { path } });
}
