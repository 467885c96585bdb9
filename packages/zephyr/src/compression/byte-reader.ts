/** Takes bytes from chunks, as many as asked for, and knows where it is. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #pieces: Uint8Array[] = [];
  #buffered = 0;
  #ended = false;
  #offset = 0;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Bytes taken so far. */
  get offset(): number {
    return this.#offset;
  }

  /** The next bytes, fewer where the chunks end before. They may lie in a chunk's memory. */
  async take(length: number): Promise<Buffer> {
    const bytes = await this.peek(length);
    const [first] = this.#pieces;
    if (first !== undefined && bytes.length > 0) {
      if (first.length === bytes.length) this.#pieces.shift();
      else this.#pieces[0] = first.subarray(bytes.length);
      this.#buffered -= bytes.length;
      this.#offset += bytes.length;
    }
    return bytes;
  }

  /** The next bytes without taking them. */
  async peek(length: number): Promise<Buffer> {
    while (this.#buffered < length && !this.#ended) await this.#fill();
    const size = Math.min(length, this.#buffered);
    if (size > (this.#pieces[0]?.length ?? 0)) this.#pieces = [Buffer.concat(this.#pieces)];
    const [first] = this.#pieces;
    return first === undefined ? Buffer.alloc(0) : Buffer.from(first.buffer, first.byteOffset, size);
  }

  /** Passes over bytes; returns how many there were. */
  async skip(length: number): Promise<number> {
    let left = length;
    while (left > 0) {
      const bytes = await this.take(Math.min(left, 1 << 20));
      if (bytes.length === 0) break;
      left -= bytes.length;
    }
    return length - left;
  }

  /** Closes the source. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #fill(): Promise<void> {
    const next = await this.#chunks.next();
    if (next.done === true) this.#ended = true;
    else if (next.value.length > 0) {
      this.#pieces.push(next.value);
      this.#buffered += next.value.length;
    }
  }
}
