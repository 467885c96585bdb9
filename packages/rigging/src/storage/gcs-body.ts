import { MarinError } from "@marin/ducky";
import type { File } from "@google-cloud/storage";
import type { Range } from "./range.js";
import type { OpenedBody } from "./resume.js";

/** A body of Google's, and the CRC-32C of the whole object that it belongs to. */
interface GcsBody extends OpenedBody {
  readonly checksum: string | undefined;
}

/** Asks for a range, and waits for the answer's head. An object is read as it is stored: a packed one must not be unpacked on the way. */
export async function bodyOf(file: File, { start, end }: Range, stop: AbortSignal): Promise<GcsBody> {
  const isWhole = start === 0 && end === Infinity;
  const body = file.createReadStream({ ...(isWhole ? {} : { start, ...(end === Infinity ? {} : { end: end - 1 }) }), decompress: false, validation: false });
  let headers: Readonly<Record<string, string | undefined>> = {};
  body.on("response", (response: { readonly headers: typeof headers }) => {
    headers = response.headers;
  });
  const abort = (): void => void body.destroy(stop.reason as Error);
  stop.addEventListener("abort", abort, { once: true });
  const iterator = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  // The client asks when it is read from.
  const first = await iterator.next();
  const length = headers["content-length"];
  return {
    version: headers["x-goog-generation"],
    bytes: length === undefined ? undefined : Number(length),
    checksum: /crc32c=([^,]+)/.exec(headers["x-goog-hash"] ?? "")?.[1],
    chunks: chunksOf(first, iterator, () => {
      stop.removeEventListener("abort", abort);
      body.destroy();
    }),
  };
}

async function* chunksOf(first: IteratorResult<Buffer, unknown>, iterator: AsyncIterator<Buffer>, close: () => void): AsyncGenerator<Uint8Array> {
  try {
    for (let next = first; next.done !== true; next = await iterator.next()) yield next.value;
  } finally {
    close();
  }
}

/** The same chunks; at their end they are compared with the checksum of the whole object. */
export async function* wholeChecked(chunks: AsyncIterable<Uint8Array>, path: string, expected: () => string | undefined): AsyncGenerator<Uint8Array> {
  const { CRC32C } = await import("@google-cloud/storage");
  const crc = new CRC32C();
  for await (const chunk of chunks) {
    crc.update(chunk as Buffer);
    yield chunk;
  }
  const checksum = expected();
  if (checksum === undefined || checksum === crc.toString()) return;
  throw new MarinError("RIGGING_STORAGE_UNAVAILABLE", `Cannot read ${path}: what has arrived has another checksum (CRC-32C) than the object.`, { data: { path, expected: checksum, found: crc.toString() } });
}
