/**
 * Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011): a keyed bijection of 64 bits
 * that passes for random. Integer arithmetic only, so every machine computes the same bits.
 */

const PARITY = 0x1bd11bda;

/**
 * Encrypts the counter (c0, c1) under the key (k0, k1); all four are 32-bit words. Writes the two result words, unsigned, to `out[at]` and
 * `out[at + 1]`.
 */
export function threefry2x32(k0: number, k1: number, c0: number, c1: number, out: Uint32Array, at = 0): void {
  const k2 = k0 ^ k1 ^ PARITY;
  let x = (c0 + k0) | 0;
  let y = (c1 + k1) | 0;

  // Five groups of four rounds; the rotation constants alternate, and a key injection follows each group.
  x = (x + y) | 0; y = ((y << 13) | (y >>> 19)) ^ x;
  x = (x + y) | 0; y = ((y << 15) | (y >>> 17)) ^ x;
  x = (x + y) | 0; y = ((y << 26) | (y >>> 6)) ^ x;
  x = (x + y) | 0; y = ((y << 6) | (y >>> 26)) ^ x;
  x = (x + k1) | 0; y = (y + k2 + 1) | 0;

  x = (x + y) | 0; y = ((y << 17) | (y >>> 15)) ^ x;
  x = (x + y) | 0; y = ((y << 29) | (y >>> 3)) ^ x;
  x = (x + y) | 0; y = ((y << 16) | (y >>> 16)) ^ x;
  x = (x + y) | 0; y = ((y << 24) | (y >>> 8)) ^ x;
  x = (x + k2) | 0; y = (y + k0 + 2) | 0;

  x = (x + y) | 0; y = ((y << 13) | (y >>> 19)) ^ x;
  x = (x + y) | 0; y = ((y << 15) | (y >>> 17)) ^ x;
  x = (x + y) | 0; y = ((y << 26) | (y >>> 6)) ^ x;
  x = (x + y) | 0; y = ((y << 6) | (y >>> 26)) ^ x;
  x = (x + k0) | 0; y = (y + k1 + 3) | 0;

  x = (x + y) | 0; y = ((y << 17) | (y >>> 15)) ^ x;
  x = (x + y) | 0; y = ((y << 29) | (y >>> 3)) ^ x;
  x = (x + y) | 0; y = ((y << 16) | (y >>> 16)) ^ x;
  x = (x + y) | 0; y = ((y << 24) | (y >>> 8)) ^ x;
  x = (x + k1) | 0; y = (y + k2 + 4) | 0;

  x = (x + y) | 0; y = ((y << 13) | (y >>> 19)) ^ x;
  x = (x + y) | 0; y = ((y << 15) | (y >>> 17)) ^ x;
  x = (x + y) | 0; y = ((y << 26) | (y >>> 6)) ^ x;
  x = (x + y) | 0; y = ((y << 6) | (y >>> 26)) ^ x;

  out[at] = (x + k2) | 0;
  out[at + 1] = (y + k0 + 5) | 0;
}
