import { crc32c } from "@aws-crypto/crc32c";

/** Bytes around a record's data: its length (8), the length's checksum (4), the data's checksum (4). */
const FRAME = 16;

/** Records found in a file, up to the first that is cut short or damaged. */
export interface FoundRecord {
  readonly data: Uint8Array;
  /** Where the record starts in the file, in bytes. */
  readonly start: number;
  /** Where the next one would start. */
  readonly end: number;
}

/**
 * TensorFlow's masked CRC-32C: the checksum rotated right by 15 bits plus a constant, so that a checksum of data that holds checksums is no
 * trivial one. Source: the comment on `masked_crc` in TensorFlow's documentation of TFRecord files.
 */
export function maskedCrc32c(data: Uint8Array): number {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** One record in TFRecord framing: length as uint64, masked CRC-32C of the length, data, masked CRC-32C of the data; all little-endian. */
export function encodeRecord(data: Uint8Array): Uint8Array {
  const record = new Uint8Array(FRAME + data.length);
  const view = new DataView(record.buffer);
  view.setBigUint64(0, BigInt(data.length), true);
  view.setUint32(8, maskedCrc32c(record.subarray(0, 8)), true);
  record.set(data, 12);
  view.setUint32(12 + data.length, maskedCrc32c(data), true);
  return record;
}

/** The whole records that a file begins with. A record that a crash cut short, and everything after a damaged one, is left out. */
export function* decodeRecords(file: Uint8Array): Generator<FoundRecord> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  for (let start = 0; start + FRAME <= file.length; ) {
    const length = Number(view.getBigUint64(start, true));
    const end = start + FRAME + length;
    if (end > file.length || view.getUint32(start + 8, true) !== maskedCrc32c(file.subarray(start, start + 8))) return;
    const data = file.subarray(start + 12, start + 12 + length);
    if (view.getUint32(start + 12 + length, true) !== maskedCrc32c(data)) return;
    yield { data, start, end };
    start = end;
  }
}
