import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { MarinError } from "@marin/ducky";
import type { Bucket, File, Storage as Client } from "@google-cloud/storage";
import { gcsError, statusOf } from "./gcs-error.js";
import { gather, isWhole, type Range, rangeOf, untilAborted } from "./range.js";
import type { ReadOptions, Storage, StorageEntry, StorageStat, WriteOptions } from "./storage.js";

/** How to reach Google Cloud Storage. */
export interface GcsOptions {
  /**
   * Another server that speaks the same protocol, "http://127.0.0.1:4443"; it is spoken to without credentials. Default: the
   * environment variable STORAGE_EMULATOR_HOST, else Google's.
   */
  readonly endpoint?: string;
  /** How often a request is tried again after a failure that may pass. Default 3. */
  readonly maxRetries?: number;
}

/** Up to here an object is sent in one request; longer streams are sent in pieces of this size. A multiple of 256 KiB. */
const pieceBytes = 8 << 20;

/** Marks the object with the write that made it, to tell one's own from another's after a lost answer. */
const writeMark = "marin-write";

/**
 * Objects of Google Cloud Storage, gs://bucket/name, through `@google-cloud/storage`, which is loaded on first use and
 * finds its credentials by itself (GOOGLE_APPLICATION_CREDENTIALS, `gcloud auth application-default login`, the machine's account).
 */
export class GcsStorage implements Storage {
  readonly #options: GcsOptions;
  #client: Promise<Client> | undefined;

  constructor(options: GcsOptions = {}) {
    this.#options = options;
  }

  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    return gather(this.stream(path, options));
  }

  async *stream(path: string, options: ReadOptions = {}): AsyncGenerator<Uint8Array> {
    const range = rangeOf(path, options);
    const file = await this.#file(path);
    try {
      if (range.start === range.end) {
        await file.getMetadata();
        return;
      }
      yield* untilAborted(download(file, path, range), options.signal);
    } catch (error) {
      // A range that begins behind the end holds nothing.
      if (statusOf(error) === 416) return;
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
      if (ifAbsent && statusOf(error) === 412) {
        // After a lost answer the client asks again, and is refused because of its own first try.
        const [{ metadata }] = await file.getMetadata().catch(() => [{ metadata: undefined }] as const);
        if (metadata?.[writeMark] === mark) return;
        throw new MarinError("RIGGING_EXISTS", `Cannot write ${path}: something is there already.`, { data: { path } });
      }
      throw gcsError(error, { action: "write", path });
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

async function* download(file: File, path: string, range: Range): AsyncGenerator<Uint8Array> {
  // As it is stored: a packed object must not be unpacked on the way. Whole objects are checked against their checksum.
  const ends = isWhole(range) ? {} : { start: range.start, ...(range.end === Infinity ? {} : { end: range.end - 1 }) };
  const body = file.createReadStream({ ...ends, decompress: false });
  let promised: number | undefined;
  body.on("response", (response: { readonly headers: Readonly<Record<string, string | undefined>> }) => {
    const length = response.headers["content-length"];
    promised = length === undefined ? undefined : Number(length);
  });
  let received = 0;
  try {
    for await (const chunk of body) {
      received += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  } finally {
    body.destroy();
  }
  if (promised === undefined || promised === received) return;
  throw new MarinError("RIGGING_STORAGE_UNAVAILABLE", `Cannot read ${path}: the connection ended after ${String(received)} of ${String(promised)} bytes.`, {
    data: { path, received, promised },
  });
}

function asBuffer(data: Uint8Array | string): Buffer {
  return typeof data === "string" ? Buffer.from(data, "utf8") : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

/** A stream of which the beginning is looked at before it is decided how to send it. */
class Pieces {
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #seen: Uint8Array[] = [];

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#iterator = chunks[Symbol.asyncIterator]();
  }

  /** Everything, when it is no longer than `limit`; else undefined, and {@link rest} gives it. */
  async whole(limit: number): Promise<Buffer | undefined> {
    for (let bytes = 0; bytes <= limit; ) {
      const next = await this.#iterator.next();
      if (next.done === true) return Buffer.concat(this.#seen);
      this.#seen.push(next.value);
      bytes += next.value.length;
    }
    return undefined;
  }

  /** Everything, from the start. */
  async *rest(): AsyncGenerator<Uint8Array> {
    try {
      while (this.#seen.length > 0) yield this.#seen.shift() as Uint8Array;
      for (;;) {
        const next = await this.#iterator.next();
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await this.#iterator.return?.();
    }
  }
}
