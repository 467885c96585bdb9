import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";

/** What a transform makes of chunks, as it comes. Errors of the chunks come through unchanged; the transform is gone afterwards, however it ends. */
export async function* through(chunks: AsyncIterable<Uint8Array>, transform: Transform): AsyncGenerator<Buffer> {
  const feeding = pipeline(chunks, transform, { end: true });
  // The loop below meets the same error.
  feeding.catch(() => undefined);
  try {
    for await (const chunk of transform) yield chunk as Buffer;
    await feeding;
  } finally {
    transform.destroy();
    await feeding.catch(() => undefined);
  }
}
