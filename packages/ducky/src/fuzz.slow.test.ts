import { expect, test } from "vitest";
import { fuzzFrames, fuzzUpgrades } from "../test/fuzz.js";

test("10 000 sequences of made-up frames: no crash, no hang, no growing memory", async () => {
  await fuzzFrames(1_000, 7);
  const before = process.memoryUsage().rss;
  const { alive, ended } = await fuzzFrames(10_000, 2);
  expect(alive + ended).toBe(10_000);
  expect(process.memoryUsage().rss - before).toBeLessThan(300 * 2 ** 20);
});

test("2 000 made-up requests for a connection: none is let in", async () => {
  expect((await fuzzUpgrades(2_000, 2)).connected).toBe(0);
});
