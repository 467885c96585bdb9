import { packedError } from "./packed-error.js";
import { once } from "node:events";
import { createGunzip, type Gunzip } from "node:zlib";

/** Reasons by the system's code. */
const reasons: Readonly<Record<string, string>> = {
  Z_BUF_ERROR: "it ends before its gzip stream does: the file was cut short",
  Z_DATA_ERROR: "its gzip stream is damaged, or the file is no gzip file",
};

/**
 * Unpacks a gzip file, its members one after the other. Every member's checksum and length are checked: what is cut short
 * or damaged ends in an error, never silently early. Zeros behind the end are padding.
 *
 * @param path - for messages
 * @param packed - the file's bytes; its errors come through unchanged
 * @throws MarinError ZEPHYR_BAD_GZIP naming the file and about where in it (`data.offset`, bytes of the packed file)
 */
export async function* gunzipChunks(path: string, packed: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: 1 << 18 });
  const bad = (offset: number, reason: string, cause?: unknown): Error => packedError(reason, { code: "ZEPHYR_BAD_GZIP", path, offset, cause });
  const feeding = feed(packed, gunzip);
  // The loop below meets the same error, or is stopped by it.
  feeding.catch((error: unknown) => gunzip.destroy(error as Error));
  try {
    for await (const chunk of gunzip) yield chunk as Buffer;
    const behind = await feeding;
    if (behind !== undefined) throw bad(behind, "something that is no gzip stream follows the end");
  } catch (cause) {
    const reason = reasons[(cause as NodeJS.ErrnoException).code ?? ""];
    throw reason === undefined ? cause : bad(gunzip.bytesWritten, reason, cause);
  } finally {
    gunzip.destroy();
    await feeding.catch(() => undefined);
  }
}

/** Feeds the stream; returns the offset of the first byte behind its end that is not zero. */
async function feed(packed: AsyncIterable<Uint8Array>, gunzip: Gunzip): Promise<number | undefined> {
  const finished = new Promise<void>((resolve) => gunzip.once("end", resolve).once("close", resolve));
  // Chunks, with their offsets, of which the stream may not have used all.
  const unused: { readonly start: number; readonly chunk: Uint8Array }[] = [];
  const behind = (): number | undefined => {
    for (const { start, chunk } of unused) {
      const used = gunzip.bytesWritten - start;
      const other = chunk.findIndex((byte, index) => index >= used && byte !== 0);
      if (other !== -1) return start + other;
    }
    unused.length = 0;
    return undefined;
  };
  let start = 0;
  for await (const chunk of packed) {
    if (gunzip.destroyed && !gunzip.readableEnded) return undefined;
    for (let first = unused[0]; first !== undefined && first.start + first.chunk.length <= gunzip.bytesWritten; first = unused[0]) unused.shift();
    unused.push({ start, chunk });
    start += chunk.length;
    const writable = !gunzip.readableEnded && !gunzip.writableEnded;
    if (writable && !gunzip.write(chunk)) await Promise.race([once(gunzip, "drain").catch(() => undefined), finished]);
    if (!gunzip.readableEnded) continue;
    const other = behind();
    if (other !== undefined) return other;
  }
  gunzip.end();
  // Only then is known how much of the last chunks it takes.
  await finished;
  return behind();
}
