/** Pseudo-random numbers that PyTorch's side computes alike: `hashing.py` describes the function. */
export function hash32(seed: number, count: number): Uint32Array {
  const values = new Uint32Array(count);
  for (let index = 0; index < count; index++) {
    let x = (Math.imul(index, 0x9e3779b1) + Math.imul(seed, 0x85ebca77)) | 0;
    x ^= x >>> 16;
    x = Math.imul(x, 0x21f0aaad);
    x ^= x >>> 15;
    x = Math.imul(x, 0x735a2d97);
    x ^= x >>> 15;
    values[index] = x >>> 0;
  }
  return values;
}

/** Float32 values spread evenly over [-scale, scale). */
export function symmetric(seed: number, count: number, scale: number): Float32Array {
  return Float32Array.from(hash32(seed, count), (value) => ((value >>> 8) / 2 ** 23 - 1) * scale);
}
