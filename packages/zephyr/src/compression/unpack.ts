import { gunzipChunks } from "./gzip.js";
import { compressionOf } from "./suffix.js";

/**
 * The content of a file, streaming: unpacked as its name's ending says (.gz, .zst, .xz), as it is without one. All
 * members, frames and streams that stand one after the other are read, and all checksums checked: what is cut short or
 * damaged ends in an error, never silently early.
 *
 * @param path - names the compression, and the file in messages
 * @param stored - the file's bytes; its errors come through unchanged
 * @throws MarinError ZEPHYR_BAD_GZIP, ZEPHYR_BAD_ZSTD, ZEPHYR_BAD_XZ with about where in the file (`data.offset`, bytes of
 * the packed file); ZEPHYR_COMPRESSION_UNSUPPORTED
 */
export async function* unpack(path: string, stored: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  switch (compressionOf(path)) {
    case undefined:
      yield* stored;
      return;
    case "gzip":
      yield* gunzipChunks(path, stored);
      return;
    case "zstd":
      yield* (await import("./zstd.js")).unzstdChunks(path, stored);
      return;
    case "xz":
      yield* (await import("./xz.js")).unxzChunks(path, stored);
  }
}
