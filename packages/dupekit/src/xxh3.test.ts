import fc from "fast-check";
import { expect, test } from "vitest";
import { kernelsFor } from "./wasm/kernels.js";
import { xxh3Portable128, xxh3Portable64 } from "./xxh3-portable.js";
import { xxh3_128, xxh3_64, xxh3Pair } from "./xxh3.js";

const prime32 = 2654435761n;
const prime64 = 11400714785074694797n;

/** The bytes that xxHash's own sanity check hashes. */
const bytes = ((): Uint8Array => {
  let state = prime32;
  return Uint8Array.from({ length: 2367 }, () => {
    const byte = Number(state >> 56n);
    state = BigInt.asUintN(64, state * prime64);
    return byte;
  });
})();

// The vectors of xxHash's sanity check (cli/xsum_sanity_check.c of xxHash 0.8): length, without a seed, and with prime64.
const published64: readonly (readonly [number, bigint, bigint])[] = [
  [0, 0x2d06800538d394c2n, 0xa8a6b918b2f0364an],
  [1, 0xc44bdff4074eecdbn, 0x032be332dd766ef8n],
  [6, 0x27b56a84cd2d7325n, 0x84589c116ab59ab9n],
  [12, 0xa713daf0dfbb77e7n, 0xe7303e1b2336de0en],
  [24, 0xa3fe70bf9d3510ebn, 0x850e80fc35bdd690n],
  [48, 0x397da259ecba1f11n, 0xadc2cbaa44acc616n],
  [80, 0xbcdefbbb2c47c90an, 0xc6dd0cb699532e73n],
  [195, 0xcd94217ee362ec3an, 0xba68003d370cb3d9n],
  [403, 0xcdeb804d65c6dea4n, 0x6259f6ecfd6443fdn],
  [512, 0x617e49599013cb6bn, 0x3ce457de14c27708n],
  [2048, 0xdd59e2c3a5f038e0n, 0x66f81670669ababcn],
  [2240, 0x6e73a90539cf2948n, 0x757ba8487d1b5247n],
  [2367, 0xcb37aeb9e5d361edn, 0xd2db3415b942b42an],
];

// Length, seed, lower half, upper half.
const published128: readonly (readonly [number, bigint, bigint, bigint])[] = [
  [0, 0n, 0x6001c324468d497fn, 0x99aa06d3014798d8n],
  [0, prime32, 0x5444f7869c671ab0n, 0x92220ae55e14ab50n],
  [1, 0n, 0xc44bdff4074eecdbn, 0xa6cd5e9392000f6an],
  [1, prime32, 0xb53d5557e7f76f8dn, 0x89b99554ba22467cn],
  [6, 0n, 0x3e7039bdda43cfc6n, 0x082afe0b8162d12an],
  [6, prime32, 0x269d8f70be98856en, 0x5a865b5389abd2b1n],
  [12, 0n, 0x061a192713f69ad9n, 0x6e3efd8fc7802b18n],
  [12, prime32, 0x9be9f9a67f3c7dfbn, 0xd7e09d518a3405d3n],
  [24, 0n, 0x1e7044d28b1b901dn, 0x0ce966e4678d3761n],
  [24, prime32, 0xd7304c54ebad40a9n, 0x3162026714a6a243n],
  [48, 0n, 0xf942219aed80f67bn, 0xa002ac4e5478227en],
  [48, prime32, 0x7ba3c3e453a1934en, 0x163adde36c072295n],
  [81, 0n, 0x5e8bafb9f95fb803n, 0x4952f58181ab0042n],
  [81, prime32, 0x703fbb3d7a5f755cn, 0x2724ec7adc750fb6n],
  [222, 0n, 0xf1aebd597cec6b3an, 0x337e09641b948717n],
  [222, prime32, 0xae995bb8af917a8dn, 0x91820016621e97f1n],
  [403, 0n, 0xcdeb804d65c6dea4n, 0x1b6de21e332dd73dn],
  [403, prime64, 0x6259f6ecfd6443fdn, 0xbed311971e0be8f2n],
  [512, 0n, 0x617e49599013cb6bn, 0x18d2d110dcc9bca1n],
  [512, prime64, 0x3ce457de14c27708n, 0x925d06b8ec5b8040n],
  [2048, 0n, 0xdd59e2c3a5f038e0n, 0xf736557fd47073a5n],
  [2048, prime32, 0x230d43f30206260bn, 0x7fb03f7e7186c3ean],
  [2240, 0n, 0x6e73a90539cf2948n, 0xccb134fbfa7ce49dn],
  [2240, prime32, 0xed385111126fba6fn, 0x50a1fe17b338995fn],
  [2367, 0n, 0xcb37aeb9e5d361edn, 0xe89c0f6ff369b427n],
  [2367, prime32, 0x6f5360ae69c2f406n, 0xd23aae4b76c31ecbn],
];

test.each(published64)("64 bits of %d bytes", (length, unseeded, seeded) => {
  const data = bytes.subarray(0, length);
  for (const hash of [xxh3_64, xxh3Portable64]) expect([hash(data, 0n), hash(data, prime64)]).toEqual([unseeded, seeded]);
});

test.each(published128)("128 bits of %d bytes, seed %d", (length, seed, low, high) => {
  const data = bytes.subarray(0, length);
  for (const hash of [xxh3_128, xxh3Portable128]) expect(hash(data, seed)).toBe((high << 64n) | low);
});

test("the kernels run here", () => {
  expect(kernelsFor(0)).toBeDefined();
});

const seeds = fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }));

test("every length up to three blocks, and what comes in parts: kernels and portable code agree", () => {
  fc.assert(
    fc.property(fc.oneof(fc.nat(300), fc.nat(3200), fc.integer({ min: 65_400, max: 65_700 })), fc.nat(7), seeds, (length, offset, seed) => {
      const data = new Uint8Array(length + offset).map((_, index) => (index * 167 + (index >> 8)) & 255).subarray(offset);
      expect(xxh3_64(data, seed)).toBe(xxh3Portable64(data, seed));
      expect(xxh3_128(data, seed)).toBe(xxh3Portable128(data, seed));
    }),
    { numRuns: 60 },
  );
});

test("a text stands for its UTF-8 bytes, whatever its length", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 80 }), fc.constantFrom(1, 1, 1, 900), (piece, times) => {
      const text = piece.repeat(times);
      const encoded = new TextEncoder().encode(text);
      expect(xxh3_64(text)).toBe(xxh3_64(encoded));
      expect(xxh3_128(text)).toBe(xxh3_128(encoded));
      const pair = new Uint32Array(2);
      xxh3Pair(text, pair);
      expect((BigInt(pair[1] ?? 0) << 32n) | BigInt(pair[0] ?? 0)).toBe(xxh3_64(encoded));
    }),
  );
});

test.each([-1n, 2n ** 64n])("a seed of %d is refused", (seed) => {
  expect(() => xxh3_64("a", seed)).toThrow(RangeError);
  expect(() => xxh3_128("a", seed)).toThrow(/from 0 to 2\^64 - 1/);
});
