/** A signature of 32-bit hashes without WebAssembly. */
export function signature32Portable(hashes: Uint32Array, masks: Uint32Array, factors: Uint32Array, permutations: number): Uint32Array {
  const signature = new Uint32Array(permutations);
  for (let index = 0; index < permutations; index += 1) {
    const mask = masks[index] ?? 0;
    const factor = factors[index] ?? 0;
    // Compared as signed numbers with the top bit flipped, which keeps the order and stays within the engine's integers.
    let least = 0x7fffffff;
    for (let at = 0; at < hashes.length; at += 1) {
      const mixed = Math.imul((hashes[at] ?? 0) ^ mask, factor);
      const hash = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b) ^ 0x80000000;
      if (hash < least) least = hash;
    }
    signature[index] = least ^ 0x80000000;
  }
  return signature;
}

/**
 * A signature of 64-bit hashes without WebAssembly, in halves of 32 bits, since bigints would take fifty times as long.
 *
 * @param masks - two numbers for each permutation, the lower half first; so are `factors`
 */
export function signature64Portable(hashes: BigUint64Array, masks: Uint32Array, factors: Uint32Array, permutations: number): BigUint64Array {
  const lows = Int32Array.from(hashes, (hash) => Number(BigInt.asIntN(32, hash)));
  const highs = Int32Array.from(hashes, (hash) => Number(BigInt.asIntN(32, hash >> 32n)));
  const signature = new BigUint64Array(permutations);
  for (let index = 0; index < permutations; index += 1) {
    const maskLow = masks[2 * index] ?? 0;
    const maskHigh = masks[2 * index + 1] ?? 0;
    const factorLow = factors[2 * index] ?? 0;
    const factorHigh = factors[2 * index + 1] ?? 0;
    const factor0 = factorLow & 0xffff;
    const factor1 = factorLow >>> 16;
    let leastHigh = 0xffffffff;
    let leastLow = 0xffffffff;
    for (let at = 0; at < lows.length; at += 1) {
      const low = (lows[at] ?? 0) ^ maskLow;
      const high = (highs[at] ?? 0) ^ maskHigh;
      // The upper half of the product of the lower halves, by halves again; all sums are below 2^53.
      const low0 = low & 0xffff;
      const low1 = low >>> 16;
      const middle = low1 * factor0 + ((low0 * factor0) >>> 16);
      const carry = low1 * factor1 + Math.floor(middle / 65_536) + Math.floor((low0 * factor1 + (middle % 65_536)) / 65_536);
      const productHigh = (carry + Math.imul(low, factorHigh) + Math.imul(high, factorLow)) >>> 0;
      if (productHigh > leastHigh) continue;
      const productLow = Math.imul(low, factorLow) >>> 0;
      if (productHigh === leastHigh && productLow >= leastLow) continue;
      leastHigh = productHigh;
      leastLow = productLow;
    }
    signature[index] = (BigInt(leastHigh) << 32n) | BigInt(leastLow);
  }
  return signature;
}
