import { expect, it } from "vitest";
import { selectEngine } from "./engine/select.js";
import { measuredPeakFlops } from "./measured-peak.js";

it("measures the engine's product once, far above what plain JavaScript reaches", async () => {
  const engine = await selectEngine({ engine: "onnx", threads: 1 });
  const peak = await measuredPeakFlops(engine);
  // No machine that runs the engine is slower, or has a thread that is faster.
  expect(peak).toBeGreaterThan(1e8);
  expect(peak).toBeLessThan(1e13);
  expect(await measuredPeakFlops(engine)).toBe(peak);
  await engine.dispose();
});
