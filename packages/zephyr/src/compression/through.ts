import { once } from "node:events";
import type { Transform } from "node:stream";

/**
 * What a transform makes of chunks, as it comes. Errors of the chunks come through unchanged; the transform is gone afterwards, however
 * it ends.
 *
 * Not stream.pipeline: that misses errors which old-fashioned transforms emit behind their end.
 */
export async function* through(chunks: AsyncIterable<Uint8Array>, transform: Transform): AsyncGenerator<Buffer> {
  const failed = new Promise<never>((_resolve, reject) => transform.once("error", reject));
  const closed = new Promise<void>((resolve) => transform.once("close", resolve));
  failed.catch(() => undefined);
  let stopped = false;
  const feed = async (): Promise<void> => {
    for await (const chunk of chunks) {
      if (stopped) return;
      if (!transform.write(chunk)) await Promise.race([once(transform, "drain"), closed, failed]);
    }
    if (!stopped) transform.end();
  };
  const feeding = feed();
  feeding.catch(() => undefined);
  // Ends when the chunks end in an error; else it never settles, since the transform's end is the one that counts.
  const lost = feeding.then(() => new Promise<never>(() => undefined));
  lost.catch(() => undefined);
  const made = transform[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    for (;;) {
      const next = await Promise.race([made.next(), failed, lost]);
      if (next.done === true) break;
      yield next.value;
    }
    await Promise.race([feeding, failed]);
  } finally {
    stopped = true;
    transform.destroy();
    await feeding.catch(() => undefined);
  }
}
