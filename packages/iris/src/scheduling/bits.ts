/** A set of small whole numbers, 32 to a word. */
export type Bits = Uint32Array<ArrayBuffer>;

/** The empty set of numbers below `size`. */
export function noBits(size: number): Bits {
  return new Uint32Array(Math.ceil(size / 32));
}

/** The set of all numbers below `size`. */
export function allBits(size: number): Bits {
  const bits = noBits(size).fill(0xffffffff);
  if (size % 32 !== 0) bits[bits.length - 1] = 2 ** (size % 32) - 1;
  return bits;
}

/** Puts a number in. */
export function addBit(bits: Bits, bit: number): void {
  const word = bit >>> 5;
  bits[word] = (bits[word] as number) | (1 << (bit & 31));
}

/** Takes a number out. */
export function removeBit(bits: Bits, bit: number): void {
  const word = bit >>> 5;
  bits[word] = (bits[word] as number) & ~(1 << (bit & 31));
}

/** What is in both. */
export function both(a: Bits, b: Bits): Bits {
  const bits = new Uint32Array(a.length);
  for (let word = 0; word < bits.length; word += 1) bits[word] = (a[word] as number) & (b[word] as number);
  return bits;
}

/** What is in the first alone. */
export function less(a: Bits, b: Bits): Bits {
  const bits = new Uint32Array(a.length);
  for (let word = 0; word < bits.length; word += 1) bits[word] = (a[word] as number) & ~(b[word] as number);
  return bits;
}

/** Whether the number is in it. */
export function hasBit(bits: Bits, bit: number): boolean {
  return ((bits[bit >>> 5] as number) & (1 << (bit & 31))) !== 0;
}

/** Keeps only what is in `other`, too. */
export function keepOnly(bits: Bits, other: Bits): void {
  for (let word = 0; word < bits.length; word += 1) bits[word] = (bits[word] as number) & (other[word] as number);
}

/** Takes out what is in `other`. */
export function takeOut(bits: Bits, other: Bits): void {
  for (let word = 0; word < bits.length; word += 1) bits[word] = (bits[word] as number) & ~(other[word] as number);
}

/** Puts in what is in `other`. */
export function join(bits: Bits, other: Bits): void {
  for (let word = 0; word < bits.length; word += 1) bits[word] = (bits[word] as number) | (other[word] as number);
}

/** The least number in it from `from` up, or -1. */
export function nextBit(bits: Bits, from: number): number {
  let word = from >>> 5;
  if (word >= bits.length) return -1;
  let rest = ((bits[word] as number) & (0xffffffff << (from & 31))) >>> 0;
  while (rest === 0) {
    word += 1;
    if (word >= bits.length) return -1;
    rest = bits[word] as number;
  }
  return word * 32 + 31 - Math.clz32(rest & -rest);
}

/** How many numbers are in it. */
export function countBits(bits: Bits): number {
  let count = 0;
  for (let word = 0; word < bits.length; word += 1) {
    // Neighbouring bits, then pairs, then fours are added up side by side.
    let sums = bits[word] as number;
    sums -= (sums >>> 1) & 0x55555555;
    sums = (sums & 0x33333333) + ((sums >>> 2) & 0x33333333);
    count += Math.imul((sums + (sums >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return count;
}
