import type { Transform } from "node:stream";
import { through } from "./through.js";
import { packedError, unsupportedCompression } from "./packed-error.js";

/** Most memory for unpacking, in bytes: what xz -9 needs is 65 MiB. */
const memoryLimit = 2 ** 28;

/** What is used of the library, whose published types know it otherwise. */
interface Lzma {
  readonly CONCATENATED: number;
  readonly TELL_UNSUPPORTED_CHECK: number;
  createStream(coder: "streamDecoder", options: { readonly flags: number; readonly memlimit: number; readonly bufsize: number }): Transform;
}

/** Reasons by the library's names. */
const reasons: Readonly<Record<string, string>> = {
  LZMA_BUF_ERROR: "it ends before its xz stream does: the file was cut short",
  LZMA_DATA_ERROR: "its xz stream is damaged",
  LZMA_FORMAT_ERROR: "it is no xz file, or something that is none follows a stream's end",
};

/** Needs that are not met, by the library's names. */
const unmet: Readonly<Record<string, string>> = {
  LZMA_MEMLIMIT_ERROR: "its dictionary needs more than 256 MiB of memory; pack it again with xz -9 or less",
  LZMA_OPTIONS_ERROR: "it was packed with a filter that is not known",
  LZMA_UNSUPPORTED_CHECK: "its checksum is of a kind that is not known, so damage would go unseen",
};

/**
 * Unpacks an xz file, its streams one after the other. What is cut short or damaged ends in an error.
 *
 * @param path - for messages
 * @param packed - the file's bytes; its errors come through unchanged
 * @throws MarinError ZEPHYR_BAD_XZ naming the file and about where in it (`data.offset`, bytes of the packed file);
 * ZEPHYR_COMPRESSION_UNSUPPORTED
 */
export async function* unxzChunks(path: string, packed: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const lzma = await loadLzma(path);
  let fed = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of packed) {
      fed += chunk.length;
      yield chunk;
    }
  };
  const decoder = lzma.createStream("streamDecoder", { flags: lzma.CONCATENATED | lzma.TELL_UNSUPPORTED_CHECK, memlimit: memoryLimit, bufsize: 1 << 20 });
  try {
    yield* through(counted(), decoder);
  } catch (cause) {
    const name = (cause as Error).name;
    const need = unmet[name];
    if (need !== undefined) throw unsupportedCompression(path, need, cause);
    const reason = reasons[name];
    throw reason === undefined ? cause : packedError(reason, { code: "ZEPHYR_BAD_XZ", path, offset: fed, cause });
  }
}

/** The library, which is native: where it has no build there is no xz. */
async function loadLzma(path: string): Promise<Lzma> {
  try {
    return (await import("lzma-native")).default as unknown as Lzma;
  } catch (cause) {
    throw unsupportedCompression(path, `lzma-native has no build for ${process.platform} on ${process.arch}; unpack it with xz -d`, cause);
  }
}
