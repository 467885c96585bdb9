import { expect, it } from "vitest";

import type { ProgressEvent } from "./events.js";
import { ProgressMeter } from "./progress-meter.js";

function meter(): { meter: ProgressMeter; events: ProgressEvent[]; clock: { now: number } } {
  const events: ProgressEvent[] = [];
  const clock = { now: 0 };
  return { meter: new ProgressMeter("train", (event) => events.push(event), () => clock.now), events, clock };
}

it("emits the first report, then at most one a second, and the last one", () => {
  const { meter: m, events, clock } = meter();
  for (let done = 1; done <= 25; done++) {
    m.report({ done, total: 25, unit: "steps" });
    clock.now += 100;
  }
  m.flush();
  m.flush();
  expect(events.map(({ done }) => done)).toEqual([1, 11, 21, 25]);
});

it("estimates the time left from the speed of this attempt, not from what an earlier one did", () => {
  const { meter: m, events, clock } = meter();
  m.report({ done: 500, total: 1000, unit: "steps" });
  clock.now += 10_000;
  m.report({ done: 600, total: 1000, unit: "steps" });
  expect(events.map(({ secondsLeft }) => secondsLeft)).toEqual([undefined, 40]);
});

it("follows a change of speed, and starts anew with another unit", () => {
  const { meter: m, events, clock } = meter();
  for (let second = 0; second <= 100; second++) {
    m.report({ done: Math.max(second, 10 * (second - 50)), total: 1000, unit: "steps" });
    clock.now += 1000;
  }
  expect(events.at(-1)?.secondsLeft).toBeCloseTo(50, 0);
  m.report({ done: 1, total: 10, unit: "documents" });
  expect(events.at(-1)).toEqual({ event: "progress", step: "train", done: 1, total: 10, unit: "documents" });
});
