/** Whether this machine keeps the lower bytes of a number first, as WebAssembly and all that is written here do. */
export const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** A copy of the numbers' bytes, the lower first on every machine. */
export function littleEndianBytes(numbers: Uint32Array | BigUint64Array): Uint8Array {
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength).slice();
  return isLittleEndian ? bytes : reversed(bytes, numbers.BYTES_PER_ELEMENT);
}

/** The 32-bit numbers of such bytes. */
export function fromLittleEndian(bytes: Uint8Array): Uint32Array {
  // A Buffer's own slice would be no copy.
  const copy = new Uint8Array(bytes);
  return new Uint32Array((isLittleEndian ? copy : reversed(copy, 4)).buffer);
}

function reversed(bytes: Uint8Array, size: number): Uint8Array {
  for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse();
  return bytes;
}
