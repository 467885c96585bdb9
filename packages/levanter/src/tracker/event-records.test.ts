import fc from "fast-check";
import { expect, it } from "vitest";
import { stepOfEvent } from "./event-proto.js";
import { decodeRecords, encodeRecord, maskedCrc32c } from "./event-records.js";

const unmask = (masked: number): number => {
  const rotated = (masked - 0xa282ead8) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
};

it.each([
  ["32 bytes of 0", new Uint8Array(32), 0x8a9136aa],
  ["32 bytes of 255", new Uint8Array(32).fill(255), 0x62a8ab43],
  ["bytes from 0 to 31", Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
  ["bytes from 31 to 0", Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
  ["the digits 1 to 9", new TextEncoder().encode("123456789"), 0xe3069283],
])("has RFC 3720's checksum of %s under the mask", (_name, data, crc) => {
  expect(unmask(maskedCrc32c(data))).toBe(crc);
});

// Written by the record writer and the generated messages of TensorBoard 2.21 for Python: a version event, and step 300 with train/loss 0.75.
const FOREIGN = Buffer.from(
  "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c" +
    "2100000000000000017becf609000000000000024010ac022a130a110a0a747261696e2f6c6f7373150000403fadd3820f",
  "hex",
);

it("reads a file written by TensorBoard's own writer, and frames the same data in the same bytes", () => {
  const records = [...decodeRecords(FOREIGN)];
  expect(records.map(({ data }) => stepOfEvent(data))).toEqual([0, 300]);
  expect(Buffer.concat(records.map(({ data }) => encodeRecord(data)))).toEqual(FOREIGN);
});

it("reads back what it wrote, wherever the file is cut: all whole records, and nothing else", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 }), fc.double({ min: 0, max: 1, noNaN: true }), (datas, at) => {
      const records = datas.map((data) => encodeRecord(data));
      const file = Buffer.concat(records);
      const cut = Math.floor(at * file.length);
      const found = [...decodeRecords(file.subarray(0, cut))];
      let end = 0;
      const whole = records.filter((record) => (end += record.length) <= cut);
      expect(found.map(({ data }) => Buffer.from(data))).toEqual(datas.slice(0, whole.length).map((data) => Buffer.from(data)));
      expect(found.at(-1)?.end ?? 0).toBe(Buffer.concat(whole).length);
    }),
  );
});

it("stops at the first record with a wrong byte", () => {
  const record = encodeRecord(Uint8Array.of(1, 2, 3));
  fc.assert(
    fc.property(fc.nat(record.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const damaged = Uint8Array.from(record, (byte, i) => (i === at ? byte ^ flip : byte));
      expect([...decodeRecords(Buffer.concat([record, damaged, record]))]).toHaveLength(1);
    }),
  );
});
