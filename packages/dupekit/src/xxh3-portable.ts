// XXH3 without WebAssembly, in 64-bit numbers, as its specification has it (doc/xxhash_spec.md of the xxHash project, Yann Collet).

const prime32x1 = 0x9e3779b1n;
const prime32x2 = 0x85ebca77n;
const prime32x3 = 0xc2b2ae3dn;
const prime64x1 = 0x9e3779b185ebca87n;
const prime64x2 = 0xc2b2ae3d27d4eb4fn;
const prime64x3 = 0x165667b19e3779f9n;
const prime64x4 = 0x85ebca77c2b2ae63n;
const prime64x5 = 0x27d4eb2f165667c5n;
const mixer1 = 0x165667919e3779f9n;
const mixer2 = 0x9fb21c651e98df25n;
const blockBytes = 1024;

const secretDigits =
  "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c" +
  "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364" +
  "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e";
const secret = new DataView(Uint8Array.from(secretDigits.match(/../gu) ?? [], (digits) => parseInt(digits, 16)).buffer);

/** XXH3, 64 bits. */
export function xxh3Portable64(bytes: Uint8Array, seed: bigint): bigint {
  const length = BigInt(bytes.length);
  if (length > 240n) return wrap(large(bytes, seed));
  const data = viewOf(bytes);
  if (length > 16n) return medium64(data, seed);
  if (length > 8n) {
    const low = wrap((word(secret, 24) ^ word(secret, 32)) + seed) ^ word(data, 0);
    const high = wrap((word(secret, 40) ^ word(secret, 48)) - seed) ^ word(data, bytes.length - 8);
    return avalanche(wrap(length + swap64(low) + high + fold(low, high)));
  }
  if (length >= 4n) {
    const combined = half(data, bytes.length - 4) | (half(data, 0) << 32n);
    let value = wrap((word(secret, 8) ^ word(secret, 16)) - modified(seed)) ^ combined;
    value ^= rotate64(value, 49n) ^ rotate64(value, 24n);
    value = wrap(value * mixer2);
    value ^= (value >> 35n) + length;
    value = wrap(wrap(value) * mixer2);
    return value ^ (value >> 28n);
  }
  if (length > 0n) return avalancheLong(wrap((half(secret, 0) ^ half(secret, 4)) + seed) ^ combined3(bytes));
  return avalancheLong(seed ^ word(secret, 56) ^ word(secret, 64));
}

/** XXH3, 128 bits. */
export function xxh3Portable128(bytes: Uint8Array, seed: bigint): bigint {
  const length = BigInt(bytes.length);
  if (length > 240n) return large(bytes, seed);
  const data = viewOf(bytes);
  if (length > 16n) return medium128(data, seed);
  if (length > 8n) {
    const [first, last] = [word(data, 0), word(data, bytes.length - 8)];
    const one = wrap((word(secret, 32) ^ word(secret, 40)) - seed) ^ first ^ last;
    const two = wrap((word(secret, 48) ^ word(secret, 56)) + seed) ^ last;
    const product = one * prime64x1;
    const high = wrap((product >> 64n) + two + (two & 0xffff_ffffn) * (prime32x2 - 1n));
    const low = wrap(wrap(product) + ((length - 1n) << 54n)) ^ swap64(high);
    const second = low * prime64x2;
    return join(avalanche(wrap(second)), avalanche(wrap((second >> 64n) + high * prime64x2)));
  }
  if (length >= 4n) {
    const combined = half(data, 0) | (half(data, bytes.length - 4) << 32n);
    const value = wrap((word(secret, 16) ^ word(secret, 24)) + modified(seed)) ^ combined;
    const product = value * (prime64x1 + (length << 2n));
    let low = wrap(product);
    const high = wrap((product >> 64n) + (low << 1n));
    low ^= high >> 3n;
    low ^= low >> 35n;
    low = wrap(low * mixer2);
    return join(low ^ (low >> 28n), avalanche(high));
  }
  if (length > 0n) {
    const combined = combined3(bytes);
    const swapped = swap32(combined);
    const rotated = ((swapped << 13n) | (swapped >> 19n)) & 0xffff_ffffn;
    return join(avalancheLong(wrap((half(secret, 0) ^ half(secret, 4)) + seed) ^ combined), avalancheLong(wrap((half(secret, 8) ^ half(secret, 12)) - seed) ^ rotated));
  }
  return join(avalancheLong(seed ^ word(secret, 64) ^ word(secret, 72)), avalancheLong(seed ^ word(secret, 80) ^ word(secret, 88)));
}

function medium64(data: DataView, seed: bigint): bigint {
  const length = data.byteLength;
  let sum = wrap(BigInt(length) * prime64x1);
  if (length <= 128) {
    for (let offset = 16 * ((length - 1) >> 5); offset >= 0; offset -= 16) {
      sum += mix(data, offset, offset * 2, seed) + mix(data, length - offset - 16, offset * 2 + 16, seed);
    }
    return avalanche(wrap(sum));
  }
  for (let at = 0; at < 128; at += 16) sum += mix(data, at, at, seed);
  sum = avalanche(wrap(sum));
  for (let at = 128; at + 16 <= length; at += 16) sum += mix(data, at, at - 125, seed);
  return avalanche(wrap(sum + mix(data, length - 16, 119, seed)));
}

function medium128(data: DataView, seed: bigint): bigint {
  const length = data.byteLength;
  let one = wrap(BigInt(length) * prime64x1);
  let two = 0n;
  const take = (left: number, right: number, at: number, ownSeed: bigint): void => {
    one = wrap(one + mix(data, left, at, ownSeed)) ^ wrap(word(data, right) + word(data, right + 8));
    two = wrap(two + mix(data, right, at + 16, ownSeed)) ^ wrap(word(data, left) + word(data, left + 8));
  };
  if (length <= 128) {
    for (let offset = 16 * ((length - 1) >> 5); offset >= 0; offset -= 16) take(offset, length - offset - 16, offset * 2, seed);
  } else {
    for (let at = 0; at < 128; at += 32) take(at, at + 16, at, seed);
    [one, two] = [avalanche(one), avalanche(two)];
    for (let at = 128; at + 32 <= length; at += 32) take(at, at + 16, at - 125, seed);
    take(length - 16, length - 32, 103, wrap(-seed));
  }
  const high = wrap(one * prime64x1 + two * prime64x4 + (BigInt(length) - seed) * prime64x2);
  return join(avalanche(wrap(one + two)), wrap(-avalanche(high)));
}

function large(bytes: Uint8Array, seed: bigint): bigint {
  const data = viewOf(bytes);
  const own = new DataView(new ArrayBuffer(192));
  for (let at = 0; at < 192; at += 16) {
    own.setBigUint64(at, wrap(word(secret, at) + seed), true);
    own.setBigUint64(at + 8, wrap(word(secret, at + 8) - seed), true);
  }
  const sums = [prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1];
  const stripe = (at: number, key: number): void => {
    for (let lane = 0; lane < 8; lane += 1) {
      const value = word(data, at + lane * 8);
      const keyed = value ^ word(own, key + lane * 8);
      sums[lane ^ 1] = wrap((sums[lane ^ 1] ?? 0n) + value);
      sums[lane] = wrap((sums[lane] ?? 0n) + (keyed & 0xffff_ffffn) * (keyed >> 32n));
    }
  };
  const last = Math.floor((bytes.length - 1) / blockBytes) * blockBytes;
  for (let block = 0; block < last; block += blockBytes) {
    for (let n = 0; n < 16; n += 1) stripe(block + n * 64, n * 8);
    for (const [lane, sum] of sums.entries()) sums[lane] = wrap((sum ^ (sum >> 47n) ^ word(own, 128 + lane * 8)) * prime32x1);
  }
  for (let n = 0; n < Math.floor((bytes.length - last - 1) / 64); n += 1) stripe(last + n * 64, n * 8);
  stripe(bytes.length - 64, 121);
  const merge = (initial: bigint, key: number): bigint => {
    let sum = initial;
    for (let lane = 0; lane < 8; lane += 2) sum += fold((sums[lane] ?? 0n) ^ word(own, key + lane * 8), (sums[lane + 1] ?? 0n) ^ word(own, key + lane * 8 + 8));
    return avalanche(wrap(sum));
  };
  const length = BigInt(bytes.length);
  return join(merge(wrap(length * prime64x1), 11), merge(wrap(~(length * prime64x2)), 117));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function word(data: DataView, at: number): bigint {
  return data.getBigUint64(at, true);
}

function half(data: DataView, at: number): bigint {
  return BigInt(data.getUint32(at, true));
}

function wrap(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}

function join(low: bigint, high: bigint): bigint {
  return (high << 64n) | low;
}

function fold(a: bigint, b: bigint): bigint {
  const product = a * b;
  return wrap(product) ^ (product >> 64n);
}

function mix(data: DataView, at: number, key: number, seed: bigint): bigint {
  return fold(word(data, at) ^ wrap(word(secret, key) + seed), word(data, at + 8) ^ wrap(word(secret, key + 8) - seed));
}

function avalanche(value: bigint): bigint {
  const mixed = wrap((value ^ (value >> 37n)) * mixer1);
  return mixed ^ (mixed >> 32n);
}

function avalancheLong(value: bigint): bigint {
  let mixed = wrap((value ^ (value >> 33n)) * prime64x2);
  mixed = wrap((mixed ^ (mixed >> 29n)) * prime64x3);
  return mixed ^ (mixed >> 32n);
}

function modified(seed: bigint): bigint {
  return seed ^ (swap32(seed & 0xffff_ffffn) << 32n);
}

function combined3(bytes: Uint8Array): bigint {
  const at = (index: number): number => bytes[index] ?? 0;
  const { length } = bytes;
  return BigInt((at(length - 1) | (length << 8) | (at(0) << 16) | (at(length >> 1) << 24)) >>> 0);
}

function rotate64(value: bigint, by: bigint): bigint {
  return wrap((value << by) | (value >> (64n - by)));
}

function swap32(value: bigint): bigint {
  return ((value & 0xffn) << 24n) | ((value & 0xff00n) << 8n) | ((value >> 8n) & 0xff00n) | (value >> 24n);
}

function swap64(value: bigint): bigint {
  return (swap32(value & 0xffff_ffffn) << 32n) | swap32(value >> 32n);
}
