/** Hash of bytes by which frames are checked: xxh32 with this seed. */
type Hash = (bytes: Uint8Array, seed: number) => number;

/**
 * The content of an LZ4 frame (LZ4 Frame Format Description 1.6.4), in which Arrow packs buffers. Its checksums are checked, where it has them.
 *
 * @param packed - one frame
 * @param hash - xxh32
 * @throws Error saying what is wrong with it
 */
export function unpackLz4Frame(packed: Uint8Array, hash: Hash): Uint8Array {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  if (packed.length < 7 || view.getUint32(0, true) !== 0x184d2204) throw new Error("a buffer is no LZ4 frame");
  const flags = view.getUint8(4);
  if (flags >> 6 !== 1 || (flags & 1) === 1) throw new Error("an LZ4 frame is of another version, or needs a dictionary");
  const [hasBlockChecksums, hasContentSize, hasContentChecksum] = [(flags & 16) !== 0, (flags & 8) !== 0, (flags & 4) !== 0];
  let at = hasContentSize ? 14 : 6;
  if (((hash(packed.subarray(4, at), 0) >> 8) & 0xff) !== view.getUint8(at)) throw new Error("the head of an LZ4 frame is damaged");
  at += 1;
  // A byte becomes 255 bytes at most: what a head says is no reason to take more memory.
  const size = hasContentSize ? Number(view.getBigUint64(6, true)) : undefined;
  if (size !== undefined && size > 255 * packed.length) throw new Error(`an LZ4 frame says that it holds ${String(size)} bytes, which it cannot`);
  const content = new Output(size ?? 4 * packed.length);
  for (;;) {
    const head = view.getUint32(at, true);
    at += 4;
    if (head === 0) break;
    const end = at + (head & 0x7fffffff);
    if (end > packed.length) throw new Error("an LZ4 frame was cut short");
    const block = packed.subarray(at, end);
    if (head >>> 31 === 1) content.append(block);
    else unpackBlock(block, content);
    at = end;
    if (!hasBlockChecksums) continue;
    if (hash(block, 0) !== view.getUint32(at, true)) throw new Error("the checksum of an LZ4 block differs");
    at += 4;
  }
  const bytes = content.bytes.subarray(0, content.length);
  if (size !== undefined && size !== bytes.length) throw new Error(`an LZ4 frame holds ${String(bytes.length)} bytes where it says ${String(size)}`);
  if (hasContentChecksum && hash(bytes, 0) !== view.getUint32(at, true)) throw new Error("the checksum of an LZ4 frame differs");
  return bytes;
}

/** Bytes unpacked so far, which later blocks repeat pieces of. */
class Output {
  bytes: Uint8Array;
  length = 0;

  constructor(size: number) {
    this.bytes = new Uint8Array(Math.max(size, 64));
  }

  append(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Repeats what stands `distance` bytes back; it may run into what it appends. */
  repeat(distance: number, count: number): void {
    if (distance === 0 || distance > this.length) throw new Error("an LZ4 block repeats what is not there");
    this.#room(count);
    const { bytes } = this;
    for (let left = count; left > 0; left -= 1) {
      bytes[this.length] = bytes[this.length - distance] as number;
      this.length += 1;
    }
  }

  #room(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.bytes.length, this.length + count));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }
}

function unpackBlock(block: Uint8Array, content: Output): void {
  let at = 0;
  const next = (): number => {
    const byte = block[at++];
    if (byte === undefined) throw new Error("an LZ4 block was cut short");
    return byte;
  };
  const lengthOf = (nibble: number): number => {
    let length = nibble;
    if (nibble < 15) return length;
    let byte: number;
    do {
      byte = next();
      length += byte;
    } while (byte === 255);
    return length;
  };
  while (at < block.length) {
    const token = next();
    const literals = lengthOf(token >> 4);
    if (at + literals > block.length) throw new Error("an LZ4 block was cut short");
    content.append(block.subarray(at, at + literals));
    at += literals;
    // The last piece is literals alone.
    if (at === block.length) return;
    const distance = next() | (next() << 8);
    content.repeat(distance, lengthOf(token & 15) + 4);
  }
}
