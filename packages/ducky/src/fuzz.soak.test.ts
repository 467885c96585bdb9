import { expect, test } from "vitest";
import { fuzzFrames, fuzzUpgrades } from "../test/fuzz.js";

test("100 000 sequences of made-up frames: no crash, no hang, no growing memory", async () => {
  await fuzzFrames(1_000, 7);
  const before = process.memoryUsage().rss;
  const seeds = Array.from({ length: 10 }, (_, seed) => seed + 10);
  for (const seed of seeds) expect(await fuzzFrames(10_000, seed)).toEqual({ alive: expect.any(Number), ended: expect.any(Number) });
  expect(process.memoryUsage().rss - before).toBeLessThan(300 * 2 ** 20);
});

test("20 000 made-up requests for a connection: none is let in", async () => {
  expect((await fuzzUpgrades(20_000, 3)).connected).toBe(0);
});
