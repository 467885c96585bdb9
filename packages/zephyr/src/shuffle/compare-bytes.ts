/** Up to here a loop is faster than the way to native code. */
const loopBytes = 48;

/** Compares parts of two buffers: below 0 when the first comes before, above 0 when after. */
export function compareBytes(a: Buffer, startA: number, endA: number, b: Buffer, startB: number, endB: number): number {
  const lengthA = endA - startA;
  const lengthB = endB - startB;
  const common = lengthA < lengthB ? lengthA : lengthB;
  const looped = common < loopBytes ? common : loopBytes;
  for (let at = 0; at < looped; at++) {
    const difference = (a[startA + at] as number) - (b[startB + at] as number);
    if (difference !== 0) return difference;
  }
  return common === looped ? lengthA - lengthB : a.compare(b, startB + looped, endB, startA + looped, endA);
}
