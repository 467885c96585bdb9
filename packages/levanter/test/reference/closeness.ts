import { expect } from "vitest";

/** Fails unless every value is within `absolute + relative * |expected|`; a NaN matches nothing. Names the worst element. */
export function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, absolute: number, relative: number, what: string): void {
  expect(actual.length, `${what}: number of values`).toBe(expected.length);
  let worst = -1;
  let worstExcess = 0;
  for (let index = 0; index < expected.length; index++) {
    const want = expected[index] as number;
    const excess = Math.abs((actual[index] as number) - want) / (absolute + relative * Math.abs(want));
    if (!(excess <= Math.max(1, worstExcess))) {
      worst = index;
      worstExcess = Number.isNaN(excess) ? Infinity : excess;
    }
  }
  if (worst >= 0) {
    expect.fail(`${what}: element ${worst} is ${actual[worst]}, expected ${expected[worst]} (absolute ${absolute}, relative ${relative})`);
  }
}

/** Fails unless the Euclidean distance is at most `tolerance` times the norm of `expected`. */
export function expectNormClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number, what: string): void {
  expect(actual.length, `${what}: number of values`).toBe(expected.length);
  let distance = 0;
  let norm = 0;
  for (let index = 0; index < expected.length; index++) {
    distance += ((actual[index] as number) - (expected[index] as number)) ** 2;
    norm += (expected[index] as number) ** 2;
  }
  const ratio = Math.sqrt(distance / norm);
  // Written so that a NaN fails.
  expect(ratio <= tolerance, `${what}: differs by ${ratio} of its norm ${Math.sqrt(norm)}, allowed ${tolerance}`).toBe(true);
}
