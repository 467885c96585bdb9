/** Bytes that grow at their end. Whoever writes asks for room first and moves the length. */
export class ByteWriter {
  /** Holds what was written, and room behind it; another one after {@link ByteWriter.room}. */
  bytes: Buffer;
  /** How much was written. */
  length = 0;

  constructor(capacity = 256) {
    this.bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** Makes room for so many more bytes. */
  room(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  byte(value: number): void {
    if (this.length === this.bytes.length) this.room(1);
    this.bytes[this.length++] = value;
  }

  /** A whole number from 0 to 2^53 - 1, 7 bits a byte, the lowest first. */
  varint(value: number): void {
    this.room(8);
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest % 0x80) | 0x80;
      rest = rest < 2 ** 31 ? rest >>> 7 : Math.floor(rest / 0x80);
    }
    this.bytes[this.length++] = rest;
  }

  copy(from: Uint8Array, start: number, end: number): void {
    this.room(end - start);
    // A native call costs more than the bytes of a short key.
    if (end - start < 24) for (let at = start; at < end; at++) this.bytes[this.length++] = from[at] as number;
    else {
      this.bytes.set(start === 0 && end === from.length ? from : from.subarray(start, end), this.length);
      this.length += end - start;
    }
  }
}
