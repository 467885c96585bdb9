import { createHash } from "node:crypto";
import { stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { MarinError, isMarinError, makeDirectory, writeDirectoryAtomic } from "../platform.js";
import { decompressed, unpackArchive } from "./archive.js";
import { isBundleDigest, maxBundleBytes, maxBundleEntries } from "./bundle.js";
import type { BundleSource } from "./bundle-store.js";

/** Unpacks bundles, each once, into directories that stay. */
export class BundleCache {
  readonly #directory: string;
  readonly #source: BundleSource;
  readonly #running = new Map<string, Promise<string>>();

  /**
   * @param directory - where the unpacked bundles are kept; made when missing
   * @param source - where they come from
   */
  constructor(directory: string, source: BundleSource) {
    this.#directory = directory;
    this.#source = source;
  }

  /**
   * The directory with the files of a bundle. All that ask for a digest get the same one: its files are without permission to write.
   *
   * @param digest - the bundle's digest
   * @param options - `signal` ends the waiting, with its reason as the error; the unpacking goes on for others
   * @throws MarinError IRIS_NO_BUNDLE, IRIS_BAD_BUNDLE (it is not what its digest says), IRIS_BAD_ARCHIVE, RIGGING_DISK_FULL and other file errors
   */
  async directory(digest: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<string> {
    signal?.throwIfAborted();
    let running = this.#running.get(digest);
    if (running === undefined) {
      running = this.#unpack(digest).finally(() => this.#running.delete(digest));
      this.#running.set(digest, running);
    }
    return signal === undefined ? running : abortable(running, signal);
  }

  async #unpack(digest: string): Promise<string> {
    if (!isBundleDigest(digest)) throw new MarinError("IRIS_BAD_BUNDLE", `${JSON.stringify(digest.slice(0, 100))} is no bundle's digest.`);
    const path = join(this.#directory, digest);
    const now = new Date();
    if ((await stat(path).catch(() => undefined)) !== undefined) {
      // When it was used last is of use to whoever clears up.
      await utimes(path, now, now).catch(() => undefined);
      return path;
    }
    await makeDirectory(this.#directory);
    await writeDirectoryAtomic(path, async (directory) => {
      const hash = createHash("sha256");
      const hashed = async function* (tar: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
        for await (const chunk of tar) {
          hash.update(chunk);
          yield chunk;
        }
      };
      await unpackArchive(hashed(decompressed(this.#source.read(digest))), directory, { maxBytes: maxBundleBytes, maxEntries: maxBundleEntries, readOnly: true });
      const found = `sha256-${hash.digest("hex")}`;
      if (found !== digest) throw new MarinError("IRIS_BAD_BUNDLE", `The bundle ${digest} is damaged: what is kept under that name is ${found}. Remove it and submit again.`, { data: { digest, found } });
    }).catch((error: unknown) => {
      // Another process of this machine was faster.
      if (!isMarinError(error, "RIGGING_EXISTS")) throw error;
    });
    return path;
  }
}

function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
