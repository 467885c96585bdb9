import { expect, it } from "vitest";
import { gpt2 } from "./models/gpt2.js";
import { StepClock } from "./step-clock.js";
import { stepThroughput } from "./step-throughput.js";

/** A clock that shows what it is set to, in seconds. */
function manual(): { clock: StepClock; pass: (seconds: number) => void } {
  let milliseconds = 5000;
  return { clock: new StepClock(() => milliseconds), pass: (seconds) => void (milliseconds += 1000 * seconds) };
}

const model = gpt2({ vocabSize: 50257, sequenceLength: 1024, hiddenSize: 768, layers: 12, heads: 12 });

it("tells a step's speed, parts, operations and utilization", async () => {
  const { clock, pass } = manual();
  clock.start();
  await clock.time("loading", () => { pass(0.5); });
  await clock.time("gradients", () => { pass(3); });
  await clock.time("optimizer", () => { pass(1); });
  clock.stop(2048);
  await clock.time("hooks", () => { pass(0.25); });
  await clock.time("evaluation", () => { pass(7); });
  const input = { clock, model, sequenceLength: 1024, rows: 2, totalTokens: 20480, peakFlops: 1e12 };
  // 855,765,504 operations a token: the published count of GPT-2 124M at 1024 tokens.
  expect(stepThroughput(input)).toEqual({
    "throughput/tokens_per_second": 512,
    "throughput/examples_per_second": 0.5,
    "throughput/duration": 4,
    "throughput/total_tokens": 20480,
    "throughput/loading_time": 0.5,
    "throughput/gradient_time": 3,
    "throughput/optimizer_time": 1,
    "throughput/hook_time": 0.25,
    "throughput/evaluation_time": 7,
    "throughput/checkpoint_time": 0,
    "throughput/total_gflops": (855_765_504 * 20480) / 1e9,
    "throughput/gflops_per_second": (855_765_504 * 512) / 1e9,
    "throughput/mfu": (100 * 855_765_504 * 512) / 1e12,
  });
  expect(stepThroughput(input)).toMatchObject({ "throughput/hook_time": 0, "throughput/evaluation_time": 0, "throughput/gradient_time": 3 });
  const { transformer: _uncounted, ...other } = model;
  expect(Object.keys(stepThroughput({ ...input, model: other })).filter((name) => /flops|mfu/.test(name))).toEqual([]);
});

it("averages speed over the last 20 steps, whatever their sizes and what is between them", () => {
  const { clock, pass } = manual();
  const step = (tokens: number, seconds: number): void => {
    clock.start();
    pass(seconds);
    clock.stop(tokens);
    pass(1000);
  };
  step(1e9, 1);
  for (let i = 0; i < 10; i++) step(100, 1);
  for (let i = 0; i < 10; i++) step(200, 4);
  expect(clock.tokensPerSecond).toBe(60);
  expect(clock.secondsFor(6000)).toBe(100);
});

it("counts the time of what fails", async () => {
  const { clock, pass } = manual();
  const failing = clock.time("hooks", () => {
    pass(2);
    throw new Error("hook failed");
  });
  await expect(failing).rejects.toThrow("hook failed");
  expect(clock.takeParts().hooks).toBe(2);
});
