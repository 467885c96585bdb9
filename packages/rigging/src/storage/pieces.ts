/** Up to here an object is sent in one request; longer streams are sent in pieces of this size. A multiple of 256 KiB, as Google asks, and over the 5 MiB of S3. */
export const pieceBytes = 8 << 20;

/** The same bytes as a Buffer, without a copy where they are bytes already. */
export function asBuffer(data: Uint8Array | string): Buffer {
  return typeof data === "string" ? Buffer.from(data, "utf8") : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

/** A stream of which the beginning is looked at before it is decided how to send it. */
export class Pieces {
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #seen: Uint8Array[] = [];

  /** @param chunks - the stream */
  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#iterator = chunks[Symbol.asyncIterator]();
  }

  /** Everything, when it is no longer than `limit`; else undefined, and {@link Pieces.rest} gives it. */
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
