/** Hashes that are taken at a time: 16 kB, so that they stay in the first-level cache while all permutations pass over them. */
const BATCH32: usize = 4096;
const BATCH64: usize = 2048;
/** Places of the table of hashes seen lately. */
const RECENT: usize = 4096;

// @ts-ignore: decorator
@inline function least(hash: v128, mask: v128, factor: v128, last: v128, sum: v128): v128 {
  const mixed = i32x4.mul(v128.xor(hash, mask), factor);
  return i32x4.min_u(sum, i32x4.mul(v128.xor(mixed, i32x4.shr_u(mixed, 15)), last));
}

/**
 * The least of every permutation of 32-bit hashes; `signature` holds the least so far.
 *
 * @param permutations - a multiple of 16
 */
export function minHash32(hashes: usize, count: usize, masks: usize, factors: usize, signature: usize, permutations: usize): void {
  const last = i32x4.splat(0x846ca68b);
  for (let from: usize = 0; from < count; from += BATCH32) {
    const begin = hashes + from * 4;
    const end = begin + min(BATCH32, count - from) * 4;
    for (let p: usize = 0; p < permutations * 4; p += 64) {
      const maskA = v128.load(masks + p);
      const maskB = v128.load(masks + p, 16);
      const maskC = v128.load(masks + p, 32);
      const maskD = v128.load(masks + p, 48);
      const factorA = v128.load(factors + p);
      const factorB = v128.load(factors + p, 16);
      const factorC = v128.load(factors + p, 32);
      const factorD = v128.load(factors + p, 48);
      let a = v128.load(signature + p);
      let b = v128.load(signature + p, 16);
      let c = v128.load(signature + p, 32);
      let d = v128.load(signature + p, 48);
      for (let at = begin; at < end; at += 4) {
        const hash = v128.load32_splat(at);
        a = least(hash, maskA, factorA, last, a);
        b = least(hash, maskB, factorB, last, b);
        c = least(hash, maskC, factorC, last, c);
        d = least(hash, maskD, factorD, last, d);
      }
      v128.store(signature + p, a);
      v128.store(signature + p, b, 16);
      v128.store(signature + p, c, 32);
      v128.store(signature + p, d, 48);
    }
  }
}

// @ts-ignore: decorator
@inline function lower(a: u64, b: u64): u64 {
  return select<u64>(a, b, a < b);
}

/**
 * The least of every permutation of 64-bit hashes; `signature` holds the least so far.
 *
 * @param permutations - a multiple of 2
 */
export function minHash64(hashes: usize, count: usize, masks: usize, factors: usize, signature: usize, permutations: usize): void {
  for (let from: usize = 0; from < count; from += BATCH64) {
    const begin = hashes + from * 8;
    const end = begin + min(BATCH64, count - from) * 8;
    for (let p: usize = 0; p < permutations * 8; p += 16) {
      const maskA = load<u64>(masks + p);
      const maskB = load<u64>(masks + p, 8);
      const factorA = load<u64>(factors + p);
      const factorB = load<u64>(factors + p, 8);
      let a = load<u64>(signature + p);
      let b = load<u64>(signature + p, 8);
      let at = begin;
      if ((end - begin) & 8) {
        const hash = load<u64>(at);
        a = lower((hash ^ maskA) * factorA, a);
        b = lower((hash ^ maskB) * factorB, b);
        at += 8;
      }
      // Two by two: what waits for the least so far is half as much.
      for (; at < end; at += 16) {
        const hash = load<u64>(at);
        const next = load<u64>(at, 8);
        a = lower(lower((hash ^ maskA) * factorA, (next ^ maskA) * factorA), a);
        b = lower(lower((hash ^ maskB) * factorB, (next ^ maskB) * factorB), b);
      }
      store<u64>(signature + p, a);
      store<u64>(signature + p, b, 8);
    }
  }
}

/** Leaves out, in place, hashes that occurred a short while before, by a table of 4096 of them. Gives how many remain. */
export function skipRepeated32(hashes: usize, count: usize, table: usize): usize {
  // A hash has its place by its low bits, so the complement of a place stands for none.
  for (let i: usize = 0; i < RECENT; i += 1) store<u32>(table + i * 4, ~(i as u32));
  let to = hashes;
  for (let at = hashes; at < hashes + count * 4; at += 4) {
    const hash = load<u32>(at);
    const place = table + ((hash as usize) & (RECENT - 1)) * 4;
    if (load<u32>(place) === hash) continue;
    store<u32>(place, hash);
    store<u32>(to, hash);
    to += 4;
  }
  return (to - hashes) >> 2;
}

/** {@link skipRepeated32} of 64-bit hashes. */
export function skipRepeated64(hashes: usize, count: usize, table: usize): usize {
  for (let i: usize = 0; i < RECENT; i += 1) store<u64>(table + i * 8, ~(i as u64));
  let to = hashes;
  for (let at = hashes; at < hashes + count * 8; at += 8) {
    const hash = load<u64>(at);
    const place = table + ((hash as usize) & (RECENT - 1)) * 8;
    if (load<u64>(place) === hash) continue;
    store<u64>(place, hash);
    store<u64>(to, hash);
    to += 8;
  }
  return (to - hashes) >> 3;
}
