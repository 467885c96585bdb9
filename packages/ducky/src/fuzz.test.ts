import { expect, test } from "vitest";
import { fuzzFrames, fuzzUpgrades } from "../test/fuzz.js";

test("made-up frames end their connection in order or are answered honestly", async () => {
  const { alive, ended } = await fuzzFrames(500, 1);
  expect(alive).toBeGreaterThan(50);
  expect(ended).toBeGreaterThan(50);
});

test("made-up requests for a connection are refused without the token", async () => {
  const { connected, answered } = await fuzzUpgrades(150, 1);
  expect(connected).toBe(0);
  expect(answered).toBeGreaterThan(50);
});
