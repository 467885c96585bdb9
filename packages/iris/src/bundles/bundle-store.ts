import { createHash } from "node:crypto";
import { MarinError, isMarinError, type Storage } from "../platform.js";
import { decompressed } from "./archive.js";
import { type Bundle, isBundleDigest, maxBundleBytes, maxBundleEntries } from "./bundle.js";

/** Where bundles can be had. */
export interface BundleSource {
  /**
   * The compressed archive.
   *
   * @throws MarinError IRIS_NO_BUNDLE when there is none of that digest
   */
  read(digest: string, options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<Uint8Array>;
}

/** Bytes of an archive of the largest bundle, its headers and padding included. */
export const maxArchiveBytes = maxBundleBytes + 4096 * maxBundleEntries;

/** Keeps bundles in a storage, each under its digest. What is there is never replaced. */
export class BundleStore implements BundleSource {
  readonly #storage: Storage;

  /** @param storage - rooted where the bundles are kept: `openStorage("gs://bucket/bundles")` */
  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Whether the bundle is there. @throws MarinError IRIS_BAD_BUNDLE for what is no digest */
  async has(digest: string): Promise<boolean> {
    return (await this.#storage.stat(nameOf(digest))) !== undefined;
  }

  /** Keeps a bundle. Does nothing where it is kept already. */
  async put(bundle: Pick<Bundle, "digest" | "data">): Promise<void> {
    await this.write(bundle.digest, chunksOf(bundle.data));
  }

  /**
   * Keeps a bundle that arrives in pieces. Nothing appears unless all of it is what its digest says.
   *
   * @param digest - its digest
   * @param data - the compressed archive
   * @throws MarinError IRIS_BAD_BUNDLE when the archive is another, or larger than any bundle; IRIS_BAD_ARCHIVE; whatever the stream throws
   */
  async write(digest: string, data: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void> {
    const name = nameOf(digest);
    await this.#storage.write(name, checked(digest, data), { ifAbsent: true, ...(signal === undefined ? {} : { signal }) }).catch((error: unknown) => {
      if (!isMarinError(error, "RIGGING_EXISTS")) throw error;
    });
  }

  async *read(digest: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): AsyncGenerator<Uint8Array, void, void> {
    try {
      yield* this.#storage.stream(nameOf(digest), signal === undefined ? {} : { signal });
    } catch (error) {
      if (!isMarinError(error, "RIGGING_NOT_FOUND")) throw error;
      throw new MarinError("IRIS_NO_BUNDLE", `There is no bundle ${digest}: submit the job again from its workspace.`, { data: { digest }, cause: error });
    }
  }
}

function nameOf(digest: string): string {
  if (isBundleDigest(digest)) return `${digest}.tar.gz`;
  throw new MarinError("IRIS_BAD_BUNDLE", `${JSON.stringify(digest.slice(0, 100))} is no bundle's digest: it has the form sha256-<64 hexadecimal digits>.`);
}

async function* chunksOf(data: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < data.length; at += 1 << 18) yield data.subarray(at, at + (1 << 18));
}

/**
 * Passes compressed bytes on and fails at their end, or before it, unless they are those of the digest. Each piece is handed on once it is known
 * to be within the limits.
 */
async function* checked(digest: string, data: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const passed: Uint8Array[] = [];
  let compressedBytes = 0;
  const tee = async function* (): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of data) {
      if ((compressedBytes += chunk.length) > maxArchiveBytes) throw tooLarge(digest);
      passed.push(chunk);
      yield chunk;
    }
  };
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of decompressed(tee())) {
    if ((bytes += chunk.length) > maxArchiveBytes) throw tooLarge(digest);
    hash.update(chunk);
    yield* passed.splice(0);
  }
  yield* passed.splice(0);
  const found = `sha256-${hash.digest("hex")}`;
  if (found !== digest) throw new MarinError("IRIS_BAD_BUNDLE", `The bundle ${digest} is not what arrived: that is ${found}.`, { data: { digest, found } });
}

function tooLarge(digest: string): MarinError {
  return new MarinError("IRIS_BAD_BUNDLE", `The bundle ${digest} is larger than any bundle may be.`, { data: { digest, maxBytes: maxArchiveBytes } });
}
