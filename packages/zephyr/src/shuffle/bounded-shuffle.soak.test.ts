import { expect, test } from "vitest";
import { boundedShuffle, expectedOf } from "../../test/bounded-shuffle.js";

test.each([64, 256])("Bounded shuffle: 1 GB in 2 million rows, a hot key of 30 %%, a budget of %d MiB: memory stays under it and 200 MB, sums are right, nothing is left", async (mebibytes) => {
  const work = { rows: 2_000_000, rowBytes: 500, memoryBytes: mebibytes * 2 ** 20, hotShare: 0.3 };
  const { peakBytes, ...result } = await boundedShuffle(work);
  expect(result).toEqual(expectedOf(work));
  expect(peakBytes).toBeLessThan(work.memoryBytes + 200e6);
});
