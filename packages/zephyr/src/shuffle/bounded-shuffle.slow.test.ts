import { expect, test } from "vitest";
import { boundedShuffle, expectedOf } from "../../test/bounded-shuffle.js";

test.each([
  ["a hot key of 30 %", 0.3],
  ["almost all rows of one key", 0.999],
])("Bounded shuffle: a tenth of the rows, %s: memory stays under the budget and 200 MB, sums are right, nothing is left", async (_name, hotShare) => {
  const work = { rows: 200_000, rowBytes: 500, memoryBytes: 16 << 20, hotShare };
  const { peakBytes, ...result } = await boundedShuffle(work);
  expect(result).toEqual(expectedOf(work));
  expect(peakBytes).toBeLessThan(work.memoryBytes + 200e6);
});
